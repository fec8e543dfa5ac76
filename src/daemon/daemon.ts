import { join } from 'node:path';
import { fenceSteps, fenceWriter } from '../snapshot/fenced-writer.ts';
import { openSnapshotWriter, type SnapshotWriter } from '../snapshot/snapshot-writer.ts';
import { checkStore } from '../snapshot/volume/snapshot-store.ts';
import { acquireStoreLease, type StoreLease } from '../snapshot/volume/store-lease.ts';
import type { DaemonApi, DaemonReadiness } from './api/api-server.ts';
import { makePrivateFolder } from '../platform/files/private-files.ts';
import { createClosers } from './closers.ts';
import { composeApi, composeDoctor, daemonSurface, standbySurface, type ApiSurface } from './compose-api.ts';
import { tokenFileOf, type DaemonConfiguration } from './settings/config.ts';
import { createTokenFile, readTokenFile } from '../platform/files/token-file.ts';
import { createMetricsServer } from '../platform/metrics/metrics.ts';
import {
  createDaemonParts,
  scheduleIntervals,
  type DaemonBase,
  type DaemonOptions,
  type DaemonParts,
} from './daemon-parts.ts';
import { createDaemonMetrics } from './metrics.ts';
import type { Doctor } from './reports/doctor-report.ts';
import { readDataIdentity } from './database/data-identity.ts';
import { waitForDataLock } from './database/data-lock.ts';
import { openMainDatabase, type MainDatabase } from './database/main-database.ts';
import { SYNC_JOB } from './releases/jobs/release-jobs.ts';
import { refuseForeignStore } from './releases/recovery/foreign-store.ts';
import { createSettingsHolder } from './settings/daemon-settings.ts';
import { callOf } from './tasks/job.ts';

/** The daemon: databases, tasks, releases, and the loopback API in front of them. */
export interface Daemon {
  /**
   * Listens, waits until it is the only user of its data folder and the only writer of the snapshot volume, opens
   * everything, recovers from an earlier process, attests the releases found, and starts to work.
   *
   * @returns the address of the API, which answers 503 until recovery is done, and that of the metrics
   * @throws DatabaseError, StoreFormatError, ForeignStoreError, ListenError; `stop` then closes the parts that were opened
   */
  start(): Promise<{ readonly url: string; readonly metricsUrl: string | null }>;
  /** Stops cleanly, in this order: the API, running tasks, the attestor, threads, the database. */
  stop(signal?: AbortSignal): Promise<void>;
}

/** Time that running tasks have to stop. */
const TASK_GRACE_MS = 20_000;
/** Exit code of a daemon that another one has replaced: a supervisor starts it again, as a standby. */
const EXIT_LEASE_LOST = 1;

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
  const stopping = new AbortController();
  let readiness: DaemonReadiness = { ready: false, message: 'recovery is not complete' };
  let surface: ApiSurface = standbySurface(options, () => readiness.waitingFor ?? null);
  let graceMs = TASK_GRACE_MS;
  let api: DaemonApi | null = null;
  let url = '';

  const requestRestart = (drain: boolean): void => {
    if (!drain) graceMs = 0;
    options.requestShutdown('the restart action');
  };

  const onWait = (waitingFor: string): void => {
    logger.warn({ url, waiting_for: waitingFor }, 'this daemon is a standby: it waits and writes nothing');
    readiness = { ready: false, message: `this daemon is a standby: ${waitingFor}`, waitingFor };
  };

  const recover = async ({ engine, events, releases, schedules, keyWatch }: DaemonParts): Promise<void> => {
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
    if (stopping.signal.aborted) return;
    closers.add('signing keys', async () => await keyWatch.stop());
    keyWatch.start();
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
      const { socketPath, host, port } = configuration.listen;
      const tokenFile = tokenFileOf(configuration);
      makePrivateFolder(configuration.data.dir);
      // Before the wait, so that a standby can be asked, too.
      if (tokenFile !== null) await prepareToken(tokenFile, options);
      api = composeApi(options, settings, { readiness: () => readiness, surface: () => surface });
      ({ url } = await api.listen(socketPath === undefined ? { host, port } : { socketPath }));
      const shared = { configuration, options, settings, closers };
      const waiting = { clock: options.clock, signal: stopping.signal, onWait };
      const data = await openDataFolder(shared, waiting);
      const lease = await becomeWriter(shared, data.database, waiting);
      stopping.signal.throwIfAborted();
      readiness = { ready: false, message: 'recovery is not complete' };
      const base = { ...shared, ...data, lease, writer: await openVolume(shared, lease) };
      stopping.signal.throwIfAborted();
      const parts = createDaemonParts(base);
      const doctor = composeDoctor(base, parts);
      closers.add('doctor', async () => await doctor.stop());
      surface = daemonSurface(base, parts, { requestRestart, doctor });
      doctor.start();
      const metricsUrl = await serveMetrics(base, parts, doctor);
      stopping.signal.throwIfAborted();
      await recover(parts);
      return { url, metricsUrl };
    },
    stop: async (signal) => {
      stopping.abort(new Error('the daemon is stopping'));
      readiness = { ready: false, message: 'the daemon is stopping' };
      // The API closes first, so that no request arrives while the other parts close.
      closers.add('api', async (cut) => await api?.close(cut));
      await closers.closeAll(signal);
    },
  };
}

type SharedParts = Pick<DaemonBase, 'configuration' | 'options' | 'settings' | 'closers'>;

type Waiting = Parameters<typeof waitForDataLock>[1];

/** Waits until no other process uses the data folder, and opens the database. */
async function openDataFolder(
  { configuration, options, closers }: SharedParts,
  waiting: Waiting,
): Promise<MainDatabase> {
  const { dir } = configuration.data;
  const lock = await waitForDataLock(dir, waiting);
  closers.add('data lock', () => lock.release());
  waiting.signal.throwIfAborted();
  const { database, rebuilt } = openMainDatabase(join(dir, 'main.db'), new Date(options.clock.now()));
  closers.add('database', () => database.close());
  if (rebuilt !== null) {
    options.logger.error(
      { finding: rebuilt.finding, kept_at: rebuilt.keptAt },
      'the database is damaged; the file is kept aside, and an empty database is filled from the snapshot volume',
    );
  }
  return { database, rebuilt };
}

/** Waits until no other daemon writes to the snapshot volume. */
async function becomeWriter(
  { configuration, options, closers }: SharedParts,
  database: MainDatabase['database'],
  waiting: Waiting,
): Promise<StoreLease> {
  const { data, snapshot } = configuration;
  const refuse = async (): Promise<void> => {
    if (snapshot.adopt) await checkStore(snapshot.root);
    else await refuseForeignStore({ database, root: snapshot.root, signingKeys: options.signingKeys });
  };
  // Before the lease, so that a daemon with a wrong root changes nothing in the store of another.
  await refuse();
  const lease = await acquireStoreLease({
    ...waiting,
    root: snapshot.root,
    holder: await readDataIdentity(data.dir),
    logger: options.logger,
    onLost: (error) => {
      options.logger.fatal({ err: error }, error.message);
      options.requestShutdown('the lease of the snapshot volume was lost', EXIT_LEASE_LOST);
    },
  });
  closers.add('store lease', async () => await lease.release());
  // The store may have changed during the wait.
  await refuse();
  return lease;
}

/** Opens the snapshot volume. */
async function openVolume(
  { configuration, options }: SharedParts,
  lease: StoreLease,
): Promise<SnapshotWriter> {
  const writer = await openSnapshotWriter({
    clock: options.clock,
    failpoints: fenceSteps(options.failpoints, lease),
    root: configuration.snapshot.root,
  });
  return fenceWriter(writer, lease);
}

/** @returns the address of the metrics, or `null` without a port for them */
async function serveMetrics(
  { configuration, options, closers }: DaemonBase,
  { engine, releases }: DaemonParts,
  doctor: Doctor,
): Promise<string | null> {
  if (configuration.metrics === undefined) return null;
  const registry = createDaemonMetrics({
    ...options,
    syncHistory: () => engine.historyOf(SYNC_JOB.kind),
    nextSyncAt: () => releases.syncState().next_at,
    doctor,
  });
  const listening = await createMetricsServer({ ...options, ...configuration.metrics, registry });
  closers.add('metrics', async (signal) => await listening.close(signal));
  return listening.url;
}
