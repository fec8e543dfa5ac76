import { join } from 'node:path';
import { openSnapshotWriter } from '../snapshot/snapshot-writer.ts';
import type { DaemonApi } from './api/api-server.ts';
import { createClosers } from './closers.ts';
import { composeApi } from './compose-api.ts';
import { tokenFileOf, type DaemonConfiguration } from './settings/config.ts';
import { createTokenFile, readTokenFile } from '../platform/files/token-file.ts';
import {
  createDaemonParts,
  scheduleIntervals,
  type DaemonParts,
  type DaemonOptions,
} from './daemon-parts.ts';
import { acquireDataLock } from './database/data-lock.ts';
import { openDatabase } from './database/database.ts';
import { SYNC_JOB } from './releases/jobs/release-jobs.ts';
import { createSettingsHolder } from './settings/daemon-settings.ts';
import { callOf } from './tasks/job.ts';

/** The daemon: databases, tasks, releases, and the loopback API in front of them. */
export interface Daemon {
  /**
   * Opens everything, recovers from an earlier process, attests the releases found, and starts to work.
   *
   * @returns the address of the API; it answers 503 until recovery is done
   * @throws DatabaseError, StoreFormatError, ListenError; `stop` then closes the parts that were opened
   */
  start(): Promise<{ readonly url: string }>;
  /** Stops cleanly, in this order: the API, running tasks, the attestor, threads, the database. */
  stop(signal?: AbortSignal): Promise<void>;
}

/** Time that running tasks have to stop. */
const TASK_GRACE_MS = 20_000;

/** Creates the token file if it is missing. A token that cannot be read is reported by the check of each request. */
async function prepareToken(file: string, { logger, secrets }: DaemonOptions): Promise<void> {
  if (await createTokenFile(file))
    logger.info({ file }, 'created the token that callers of the API must send');
  await readTokenFile(file).then(secrets.learn, () => undefined);
}

/** Creates the daemon; nothing is opened before `start`. */
export function createDaemon(configuration: DaemonConfiguration, options: DaemonOptions): Daemon {
  const { logger, bootId } = options;
  const settings = createSettingsHolder({ configuration, signingKeys: options.signingKeys });
  const closers = createClosers(logger);
  let readiness = { ready: false, message: 'recovery is not complete' };
  let graceMs = TASK_GRACE_MS;
  let stopped = false;
  let api: DaemonApi | null = null;

  const requestRestart = (drain: boolean): void => {
    if (!drain) graceMs = 0;
    options.requestShutdown('the restart action');
  };

  const recover = async ({ engine, events, releases, schedules }: DaemonParts): Promise<void> => {
    engine.recover();
    closers.add('release events', () => events.stop());
    events.start();
    const recovery = releases.start();
    closers.add('releases', async () => {
      await releases.stop();
      // `start` reports its error.
      await recovery.catch(() => undefined);
    });
    await recovery;
    if (stopped) return;
    closers.add('tasks', async () => await engine.stop(graceMs));
    engine.start();
    closers.add('schedules', async () => await schedules.stop());
    schedules.configure(scheduleIntervals(settings.current().configuration));
    schedules.start();
    readiness = { ready: true, message: 'ready' };
    if (configuration.sync.onStart && configuration.upstream.kind !== 'none') {
      engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true, correlationId: `boot-${bootId}` });
    }
  };

  return {
    start: async () => {
      const { data, snapshot, listen } = configuration;
      const lock = acquireDataLock(data.dir);
      closers.add('data lock', () => lock.release());
      const tokenFile = tokenFileOf(configuration);
      if (tokenFile !== null) await prepareToken(tokenFile, options);
      const database = openDatabase(join(data.dir, 'main.db'));
      closers.add('database', () => database.close());
      const writer = await openSnapshotWriter({ ...options, root: snapshot.root });
      const base = { configuration, options, settings, closers, database, writer };
      const parts = createDaemonParts(base);
      api = composeApi(base, parts, { readiness: () => readiness, requestRestart });
      const { socketPath, host, port } = listen;
      const { url } = await api.listen(socketPath === undefined ? { host, port } : { socketPath });
      await recover(parts);
      return { url };
    },
    stop: async (signal) => {
      stopped = true;
      readiness = { ready: false, message: 'the daemon is stopping' };
      // The API closes first, so that no request arrives while the other parts close.
      closers.add('api', async (cut) => await api?.close(cut));
      await closers.closeAll(signal);
    },
  };
}
