import { join } from 'node:path';
import type { SigningKey } from '../attestation/keys.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Failpoints } from '../platform/files/failpoints.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { openSnapshotWriter } from '../snapshot/snapshot-writer.ts';
import type { DaemonApi } from './api/api-server.ts';
import { createClosers } from './closers.ts';
import { composeApi } from './compose-api.ts';
import type { DaemonConfiguration } from './settings/config.ts';
import { createDaemonParts, type DaemonParts } from './daemon-parts.ts';
import { acquireDataLock } from './database/data-lock.ts';
import { openDatabase } from './database/database.ts';
import { SYNC_JOB } from './releases/jobs/release-jobs.ts';
import type { LogRing } from './reports/log-ring.ts';
import { createSettingsHolder, type SettingsLoader } from './settings/daemon-settings.ts';
import { callOf } from './tasks/job.ts';

export interface DaemonOptions {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly logger: Logger;
  /** The newest lines of the log, for daemon.logs. */
  readonly logRing: Pick<LogRing, 'tail'>;
  readonly failpoints: Failpoints;
  readonly signingKeys: readonly SigningKey[];
  /** Reads configuration and keys again, for the reload action. */
  readonly loadSettings: SettingsLoader;
  readonly version: string;
  /** Different for every start of the process. */
  readonly bootId: string;
  /** Begins to end the process in order; called at most once, by the restart action. */
  readonly requestShutdown: (reason: string) => void;
}

/** The daemon: databases, tasks, releases, and the loopback API in front of them. */
export interface Daemon {
  /**
   * Opens everything, recovers what an earlier process left, attests what was found, and begins to work.
   *
   * @returns the address of the API; it answers 503 until recovery is done
   * @throws DatabaseError, StoreFormatError, ListenError; what was opened is closed by `stop`
   */
  start(): Promise<{ readonly url: string }>;
  /** Ends everything in order: the API, running tasks, the attestor, threads, the database. */
  stop(signal?: AbortSignal): Promise<void>;
}

/** How long running tasks may take to stop. */
const TASK_GRACE_MS = 20_000;

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
      // Its error, if any, is that of `start`.
      await recovery.catch(() => undefined);
    });
    await recovery;
    if (stopped) return;
    closers.add('tasks', async () => await engine.stop(graceMs));
    engine.start();
    closers.add('schedules', async () => await schedules.stop());
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
      // The API first, so that nothing new arrives while the rest ends.
      closers.add('api', async (cut) => await api?.close(cut));
      await closers.closeAll(signal);
    },
  };
}
