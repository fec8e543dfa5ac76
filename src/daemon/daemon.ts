import { openFencedWriter } from '../snapshot/fenced-writer.ts';
import type { SnapshotWriter } from '../snapshot/snapshot-writer.ts';
import { checkStore, restoreFormat } from '../snapshot/volume/snapshot-store.ts';
import { StoreLeaseLostError } from '../snapshot/volume/lease-errors.ts';
import { acquireStoreLease, type StoreLease } from '../snapshot/volume/store-lease.ts';
import type { DaemonApi } from './api/api-server.ts';
import { makePrivateFolder } from '../platform/files/private-files.ts';
import { BACKUP_JOB } from './backup/backup-job.ts';
import { createClosers } from './closers.ts';
import {
  composeApi,
  composeDoctor,
  daemonSurface,
  standbySurface,
  type ApiSurface,
  type StandbyReadiness,
} from './compose-api.ts';
import { tokenFileOf, type DaemonConfiguration } from './settings/config.ts';
import { createTokenFile, readTokenFile } from '../platform/files/token-file.ts';
import { createMetricsServer } from '../platform/metrics/metrics.ts';
import type { DaemonBase, DaemonOptions } from './daemon-base.ts';
import { createDaemonParts, scheduleIntervals, type DaemonParts } from './daemon-parts.ts';
import { createDaemonMetrics } from './metrics.ts';
import type { Doctor } from './reports/doctor-report.ts';
import { readDataIdentity } from './database/data-identity.ts';
import { storeWhenPossible, tryToStore } from './database/store-when-possible.ts';
import { canServe } from './handover/handed-over.ts';
import { unusableDataFolder } from './database/storage-failure.ts';
import type { MainDatabase } from './database/main-database.ts';
import { openDataFolder, type SharedParts } from './open-data-folder.ts';
import { openWhenWritable, type Waiting } from './open-when-writable.ts';
import { SYNC_JOB } from './releases/jobs/release-jobs.ts';
import { refuseForeignStore } from './releases/recovery/foreign-store.ts';
import { findLostStore, FORMAT_RESTORED } from './releases/recovery/lost-format.ts';
import { createSettingsHolder } from './settings/daemon-settings.ts';
import { callOf } from './tasks/job.ts';
import { refusedVolume } from './conditions/refused-volume.ts';
import { unixSeconds } from '../platform/process/clock.ts';

/** The daemon: databases, tasks, releases, and the loopback API in front of them. */
export interface Daemon {
  /**
   * Listens, waits until it is the only user of its data folder and the only writer of the snapshot volume, opens
   * everything, recovers from an earlier process, attests the releases found, and starts to work.
   *
   * @returns the address of the API, which answers 503 until recovery is done, and that of the metrics
   * @throws DatabaseError, TokenFileError, StoreFormatError, ForeignStoreError, ListenError; `stop` then closes the parts that were opened
   */
  start(): Promise<{ readonly url: string; readonly metricsUrl: string | null }>;
  /** Stops cleanly, in this order: the API, running tasks, the attestor, threads, the database. */
  stop(signal?: AbortSignal): Promise<void>;
}

/** Time that running tasks have to stop. */
const TASK_GRACE_MS = 20_000;
/** Exit code of a daemon that another one has replaced: a supervisor starts it again, as a standby. */
const EXIT_LEASE_LOST = 1;

/** Creates the data folder if it is missing. @throws DatabaseError */
function prepareDataFolder(directory: string): void {
  try {
    makePrivateFolder(directory);
  } catch (error) {
    throw unusableDataFolder(directory, error);
  }
}

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
  let readiness: StandbyReadiness = { ready: false, message: 'recovery is not complete' };
  let surface: ApiSurface = standbySurface({ options, configuration }, () => readiness);
  let graceMs = TASK_GRACE_MS;
  let api: DaemonApi | null = null;
  let url = '';

  const requestRestart = (drain: boolean): void => {
    if (!drain) graceMs = 0;
    options.requestShutdown('the restart action');
  };

  const onWait: Waiting['onWait'] = (waitingFor, failure) => {
    logger.warn({ url, waiting_for: waitingFor }, 'this daemon is a standby: it waits and writes nothing');
    const refused = failure === undefined ? [] : refusedVolume(failure, unixSeconds(options.clock));
    readiness = { ready: false, message: `this daemon is a standby: ${waitingFor}`, waitingFor, refused };
  };

  const recover = async (parts: DaemonParts): Promise<void> => {
    const { engine, events, releases, schedules, keyWatch, localized } = parts;
    // On a full data folder nothing can be stored, and attestations are renewed nevertheless.
    tryToStore(() => engine.recover(), 'the tasks of the earlier process', logger);
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
    tryToStore(localized.recordRollback, 'the effect of a rollback', logger);
    closers.add('signing keys', async () => await keyWatch.stop());
    keyWatch.start();
    closers.add('tasks', async () => await engine.stop(graceMs));
    closers.add('schedules', async () => await schedules.stop());
    const step = (): void => {
      startWork(parts, settings.current().configuration, bootId);
    };
    const what = 'the schedules of the configuration';
    closers.add('start of tasks', storeWhenPossible({ step, what, clock: options.clock, logger }));
    readiness = { ready: true, message: 'ready' };
    void parts.texts.catchUp().then(parts.localized.automation.catchUp);
    void parts.texts.glossary.open();
  };

  return {
    start: async () => {
      const { socketPath, host, port } = configuration.listen;
      const tokenFile = tokenFileOf(configuration);
      prepareDataFolder(configuration.data.dir);
      // Before the wait, so that a standby can be asked, too.
      if (tokenFile !== null) await prepareToken(tokenFile, options);
      api = composeApi(options, settings, { readiness: () => readiness, surface: () => surface });
      ({ url } = await api.listen(socketPath === undefined ? { host, port } : { socketPath }));
      const shared = { configuration, options, settings, closers };
      const waiting = { clock: options.clock, signal: stopping.signal, onWait };
      let parts: DaemonParts | null = null;
      const data = await openDataFolder(shared, waiting, () => parts !== null && canServe(parts.releases));
      const lease = await becomeWriter(shared, data.database, waiting);
      stopping.signal.throwIfAborted();
      readiness = { ready: false, message: 'recovery is not complete' };
      const base = { ...shared, ...data, lease, writer: await openVolume(shared, lease, waiting) };
      stopping.signal.throwIfAborted();
      parts = createDaemonParts(base);
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

/** Starts tasks and schedules. When the database refuses a write, nothing has started and it can be called again. */
function startWork(
  { engine, schedules }: DaemonParts,
  configuration: DaemonConfiguration,
  bootId: string,
): void {
  engine.recover();
  schedules.configure(scheduleIntervals(configuration));
  if (configuration.sync.onStart && configuration.upstream.kind !== 'none') {
    engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true, correlationId: `boot-${bootId}` });
  }
  schedules.start();
  engine.start();
}

/** Waits until no other daemon writes to the snapshot volume. */
async function becomeWriter(
  { configuration, options, closers }: SharedParts,
  database: MainDatabase['database'],
  waiting: Waiting,
): Promise<StoreLease> {
  const { data, snapshot } = configuration;
  const store = { database, root: snapshot.root, signingKeys: options.signingKeys };
  const refuse = async (): Promise<void> => {
    if ((await findLostStore(store)) !== null) return;
    if (snapshot.adopt) await checkStore(snapshot.root);
    else await refuseForeignStore(store);
  };
  // Before the lease, so that a daemon with a wrong root changes nothing in the store of another.
  await refuse();
  const lease = await acquireStoreLease({
    ...waiting,
    root: snapshot.root,
    holder: await readDataIdentity(data.dir, options.logger, new Date(options.clock.now())),
    logger: options.logger,
    onLost: (error) => {
      options.logger.fatal({ err: error }, error.message);
      options.requestShutdown('the lease of the snapshot volume was lost', EXIT_LEASE_LOST);
    },
  });
  closers.add('store lease', async () => await lease.release());
  const lost = await findLostStore(store);
  if (lost !== null) {
    await lease.confirm();
    await restoreFormat(snapshot.root, lost);
    options.logger.error({ store_id: lost }, FORMAT_RESTORED);
  }
  // The store may have changed during the wait.
  await refuse();
  return lease;
}

/** Opens the snapshot volume, as soon as it can be written where a new store is made. */
async function openVolume(
  { configuration, options }: SharedParts,
  lease: StoreLease,
  waiting: Waiting,
): Promise<SnapshotWriter> {
  const { clock, failpoints } = options;
  const { root } = configuration.snapshot;
  let hasWaited = false;
  return await openWhenWritable(
    `the snapshot volume ${root}`,
    async () => {
      if (hasWaited) await lease.confirm();
      hasWaited = true;
      return await openFencedWriter({ clock, failpoints, root }, lease);
    },
    (_failure, error) => !(error instanceof StoreLeaseLostError),
    waiting,
  );
}

/** @returns the address of the metrics, or `null` without a port for them */
async function serveMetrics(
  { configuration, options, closers }: DaemonBase,
  { engine, releases, schedules, texts }: DaemonParts,
  doctor: Doctor,
): Promise<string | null> {
  if (configuration.metrics === undefined) return null;
  const registry = createDaemonMetrics({
    ...options,
    syncHistory: () => engine.historyOf(SYNC_JOB.kind),
    nextSyncAt: () => releases.syncState().report.next_at,
    doctor,
    ...texts,
    backupHistory: () => engine.historyOf(BACKUP_JOB.kind),
    work: { ...releases, releases: releases.repository, engine, schedules, clock: options.clock },
  });
  const listening = await createMetricsServer({ ...options, ...configuration.metrics, registry });
  closers.add('metrics', async (signal) => await listening.close(signal));
  return listening.url;
}
