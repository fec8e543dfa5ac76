import { storeWhenPossible, tryToStore } from '../engine/database/store-when-possible.ts';
import { unusableDataFolder, type StorageFailure } from '../engine/database/storage-failure.ts';
import { createReleaseEvents } from '../engine/events/release-events.ts';
import { createSchedules } from '../engine/schedules/schedules.ts';
import { selectSetting } from '../engine/setting.ts';
import { createTaskEngine } from '../engine/tasks/create-task-engine.ts';
import { callOf } from '../engine/tasks/job.ts';
import { localizationSubscribers, openLocalization } from '../localization/localization.ts';
import { makePrivateFolder } from '../platform/files/private-files.ts';
import { createTokenFile, readTokenFile } from '../platform/files/token-file.ts';
import { createHashPool } from '../platform/hashing/hash-pool.ts';
import { unixSeconds } from '../platform/process/clock.ts';
import { createSpanIds, createUlidFactory } from '../platform/process/ids.ts';
import { SYNC_JOB } from '../releases/jobs/release-jobs.ts';
import { openReleases } from '../releases/releases.ts';
import { openUpstream } from '../upstream/adapters/connect-upstream.ts';
import { createDaemonApi, type ApiSurface, type DaemonApi } from './api/api-server.ts';
import { createFolderNames } from './api/folder-names.ts';
import { createBackup, humanDatabases } from './backup/backup.ts';
import { BACKUP_JOB } from './backup/backup-job.ts';
import { createClosers } from './closers.ts';
import { refusedVolume } from './conditions/conditions-of.ts';
import type { DaemonOptions } from './daemon-options.ts';
import type { DaemonParts, Modules, OpenedParts } from './daemon-parts.ts';
import { canServe } from './handover/handed-over.ts';
import { openDataFolder, type Waiting } from './open-data-folder.ts';
import { becomeWriter, openVolume } from './open-snapshot-volume.ts';
import { crashLoopOf } from './reports/doctor-checks.ts';
import { serveMetrics } from './serve-metrics.ts';
import { tokenFileOf, type DaemonConfiguration } from './settings/config.ts';
import { createSettingsHolder } from './settings/daemon-settings.ts';
import { localizationSettings, releasesSettings, scheduleIntervals } from './settings/module-settings.ts';
import type { SigningKeyWatch } from './settings/signing-key-watch.ts';
import { openRunning } from './running.ts';
import { standbySurface, type StandbyReadiness } from './standby.ts';

/** Time that running tasks have to stop. */
const TASK_GRACE_MS = 20_000;

/** The daemon: databases, tasks, releases, localization, and the loopback API in front of them. Nothing is open before `start`. */
export class Daemon {
  readonly #parts: DaemonParts;
  readonly #stopping = new AbortController();
  readonly #api: DaemonApi;
  #readiness: StandbyReadiness = { ready: false, message: 'recovery is not complete' };
  #surface: ApiSurface;
  #graceMs = TASK_GRACE_MS;
  #url = '';

  constructor(configuration: DaemonConfiguration, options: DaemonOptions) {
    const settings = createSettingsHolder({ configuration, signingKeys: options.signingKeys });
    this.#parts = { configuration, options, settings, closers: createClosers(options.logger) };
    this.#surface = standbySurface(this.#parts, () => this.#readiness);
    this.#api = createDaemonApi({
      ...options,
      surface: () => this.#surface,
      readiness: () => this.#readiness,
      createId: createUlidFactory(options),
      createSpanId: createSpanIds(options.randomBytes),
      tokenFile: () => tokenFileOf(settings.current().configuration),
      allowedHosts: () => settings.current().configuration.listen.allowedHosts,
      nameFolders: () => createFolderNames(settings.current().configuration),
    });
  }

  /**
   * Listens, waits until it is the only user of its data folder and the only writer of the snapshot volume, opens
   * everything, recovers from an earlier process, attests the releases found, and starts to work.
   *
   * @returns the address of the API, which answers 503 until recovery is done, and that of the metrics
   * @throws DatabaseError, TokenFileError, StoreFormatError, ForeignStoreError, ListenError; `stop` then closes the parts that were opened
   */
  async start(): Promise<{ readonly url: string; readonly metricsUrl: string | null }> {
    await this.#listen();
    const { signal } = this.#stopping;
    const waiting: Waiting = {
      clock: this.#parts.options.clock,
      signal,
      onWait: (reason, failure) => this.#wait(reason, failure),
    };
    let modules: Modules | null = null;
    const serves = (): boolean => modules !== null && canServe(modules.releases);
    const { database, rebuilt } = await openDataFolder(this.#parts, waiting, serves);
    const volume = await becomeWriter(this.#parts, database, waiting);
    signal.throwIfAborted();
    this.#readiness = { ready: false, message: 'recovery is not complete' };
    const writer = await openVolume(this.#parts, database, volume, waiting);
    signal.throwIfAborted();
    const opened = { ...this.#parts, database, rebuilt, writer, lease: volume.lease };
    modules = openModules(opened);
    const running = openRunning(opened, modules, (drain) => this.#restart(drain));
    this.#surface = running.surface;
    running.doctor.start();
    const metricsUrl = await serveMetrics(this.#parts, modules, running.doctor);
    signal.throwIfAborted();
    await this.#recover(modules, running.keyWatch);
    return { url: this.#url, metricsUrl };
  }

  /** Stops cleanly, in this order: the API, running tasks, the attestor, threads, the database. */
  async stop(signal?: AbortSignal): Promise<void> {
    this.#stopping.abort(new Error('the daemon is stopping'));
    this.#readiness = { ready: false, message: 'the daemon is stopping' };
    // The API closes first, so that no request arrives while the other parts close.
    this.#parts.closers.add('api', async (cut) => await this.#api.close(cut));
    await this.#parts.closers.closeAll(signal);
  }

  /** Listens before the daemon may use its folders, so that a standby can be asked. */
  async #listen(): Promise<void> {
    const { configuration, options } = this.#parts;
    const tokenFile = tokenFileOf(configuration);
    prepareDataFolder(configuration.data.dir);
    if (tokenFile !== null) await prepareToken(tokenFile, options);
    const { socketPath, host, port } = configuration.listen;
    const { url } = await this.#api.listen(socketPath === undefined ? { host, port } : { socketPath });
    this.#url = url;
  }

  #wait(waitingFor: string, failure: StorageFailure | undefined): void {
    const { clock, logger } = this.#parts.options;
    const waiting = { url: this.#url, waiting_for: waitingFor };
    logger.warn(waiting, 'this daemon is a standby: it waits and writes nothing');
    this.#readiness = {
      ready: false,
      message: `this daemon is a standby: ${waitingFor}`,
      waitingFor,
      refused: failure === undefined ? [] : refusedVolume(failure, unixSeconds(clock)),
    };
  }

  /** @param drain whether running tasks may end first */
  #restart(drain: boolean): void {
    if (!drain) this.#graceMs = 0;
    this.#parts.options.requestShutdown('the restart action');
  }

  async #recover(modules: Modules, keyWatch: SigningKeyWatch): Promise<void> {
    const { options, settings, closers } = this.#parts;
    const { clock, logger } = options;
    const { engine, events, schedules, releases, localization } = modules;
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
    if (this.#stopping.signal.aborted) return;
    tryToStore(localization.localized.recordRollback, 'the effect of a rollback', logger);
    closers.add('signing keys', async () => await keyWatch.stop());
    keyWatch.start();
    closers.add('tasks', async () => await engine.stop(this.#graceMs));
    closers.add('schedules', async () => await schedules.stop());
    const step = (): void => {
      startWork(modules, settings.current().configuration, options.bootId);
    };
    const what = 'the schedules of the configuration';
    closers.add('start of tasks', storeWhenPossible({ step, what, clock, logger }));
    this.#readiness = { ready: true, message: 'ready' };
    void localization.catchUp();
    void localization.glossary.open();
  }
}

/**
 * Opens the modules, each from those before it; nothing runs yet. A partner that comes later subscribes to an event of an
 * earlier one.
 */
function openModules(parts: OpenedParts): Modules {
  const { configuration, options, settings, closers, database, writer, lease } = parts;
  const { supervision, clock } = options;
  const dataDirectory = configuration.data.dir;
  const snapshotRoot = configuration.snapshot.root;
  const createId = createUlidFactory(options);

  const engine = createTaskEngine({ ...options, database, createId });
  const schedules = createSchedules({ ...options, database, engine, createId });
  const localizationSetting = selectSetting(settings, localizationSettings);
  const subscribers = localizationSubscribers(localizationSetting);
  const events = createReleaseEvents({ ...options, database, engine, subscribers });

  const pool = createHashPool({ threads: configuration.hashing.threads });
  closers.add('hash pool', async () => await pool.close());
  const upstream = openUpstream(configuration.upstream, { ...options, pool });
  closers.add('upstream', async () => await upstream.close());

  const releases = openReleases({
    ...options,
    database,
    root: snapshotRoot,
    writer,
    otherWriter: lease.otherWriter,
    onRecovered: () => lease.noteRecovered(),
    pool,
    upstream,
    engine,
    events,
    signingKeys: () => settings.current().signingKeys,
    configuration: () => releasesSettings(settings.current()),
    plannedSyncAt: () => schedules.nextRunOf(SYNC_JOB.kind),
    crashLoop: () => crashLoopOf(supervision, clock),
  });

  const localization = openLocalization({
    ...options,
    settings: localizationSetting,
    dataDirectory,
    snapshotRoot,
    database,
    engine,
    releases,
    writer,
    pool,
    createId,
    closers,
  });
  // No upstream has the patched files of a localized release: it is published again once the official one is sound.
  releases.onSoundnessChanged(() => void localization.localized.automation.catchUp());

  const backup = createBackup({
    ...options,
    dataDirectory,
    databases: humanDatabases(dataDirectory),
    configuration: () => settings.current().configuration.backup,
    engine,
    plannedAt: () => schedules.nextRunOf(BACKUP_JOB.kind),
    pool,
  });
  engine.jobs.register(...releases.jobs, ...localization.jobs, ...backup.jobs);
  return { engine, events, schedules, upstream, releases, localization, backup };
}

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

/** Starts tasks and schedules. When the database refuses a write, nothing has started and it can be called again. */
function startWork({ engine, schedules }: Modules, configuration: DaemonConfiguration, bootId: string): void {
  engine.recover();
  schedules.configure(scheduleIntervals(configuration));
  if (configuration.sync.onStart && configuration.upstream.kind !== 'none') {
    engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true, correlationId: `boot-${bootId}` });
  }
  schedules.start();
  engine.start();
}
