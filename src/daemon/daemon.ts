import { loadSigningKeys } from '../attestation/keys.ts';
import type { RebuiltDatabase } from '../engine/database/main-database.ts';
import type { Database } from '../engine/database/sqlite-database.ts';
import { storeWhenPossible, tryToStore } from '../engine/database/store-when-possible.ts';
import { unusableDataFolder, type StorageFailure } from '../engine/database/storage-failure.ts';
import type { DoctorCheck } from '../engine/check.ts';
import { createReleaseEvents, type ReleaseEvents } from '../engine/events/release-events.ts';
import { createSchedules, type Schedules } from '../engine/schedules/schedules.ts';
import { selectSetting } from '../engine/setting.ts';
import { createTaskEngine } from '../engine/tasks/create-task-engine.ts';
import { callOf } from '../engine/tasks/job.ts';
import type { TaskEngine } from '../engine/tasks/task-engine.ts';
import {
  localizationSubscribers,
  openLocalization,
  type Localization,
} from '../localization/localization.ts';
import { problemsOfRules } from '../localization/parse/rules/load-rules.ts';
import { makePrivateFolder } from '../platform/files/private-files.ts';
import { createTokenFile, readTokenFile } from '../platform/files/token-file.ts';
import { createHashPool } from '../platform/hashing/hash-pool.ts';
import { unixSeconds } from '../platform/process/clock.ts';
import { createSpanIds, createUlidFactory } from '../platform/process/ids.ts';
import { readOpenFilesLimit } from '../platform/process/open-files.ts';
import { SYNC_JOB } from '../releases/jobs/release-jobs.ts';
import { openReleases, type Releases } from '../releases/releases.ts';
import type { SnapshotWriter } from '../snapshot/snapshot-writer.ts';
import type { StoreLease } from '../snapshot/volume/store-lease.ts';
import { openUpstream, type Upstream } from '../upstream/adapters/connect-upstream.ts';
import { createDaemonApi, type ApiSurface, type DaemonApi } from './api/api-server.ts';
import { byName } from './api/by-name.ts';
import { createDaemonActions } from './api/daemon-actions.ts';
import { createFolderNames } from './api/folder-names.ts';
import { createBackup, humanDatabases, type Backup } from './backup/backup.ts';
import { BACKUP_JOB } from './backup/backup-job.ts';
import { createClosers, type Closers } from './closers.ts';
import { openConditions } from './conditions/open-conditions.ts';
import { refusedVolume } from './conditions/refused-volume.ts';
import type { DaemonOptions } from './daemon-options.ts';
import { canServe } from './handover/handed-over.ts';
import { openDataFolder, type Waiting } from './open-data-folder.ts';
import { becomeWriter, openVolume } from './open-snapshot-volume.ts';
import { createClockCheck, recordedTimes } from './reports/clock-check.ts';
import { createDataSpace } from './reports/data-space.ts';
import {
  crashLoopOf,
  databaseCheck,
  dataChecks,
  laneCheck,
  leaseCheck,
  openFilesCheck,
  processCheck,
  secretsCheck,
  storeChecks,
} from './reports/doctor-checks.ts';
import { createDoctor, doctorReport, type Doctor } from './reports/doctor-report.ts';
import { logReport } from './reports/log-report.ts';
import { releaseChecks } from './reports/release-checks.ts';
import { createTaskReports } from './reports/task-reports.ts';
import { serveMetrics } from './serve-metrics.ts';
import { tokenFileOf, type DaemonConfiguration } from './settings/config.ts';
import { createSettingsHolder, type SettingsHolder } from './settings/daemon-settings.ts';
import { localizationSettings, releasesSettings, scheduleIntervals } from './settings/module-settings.ts';
import { daemonOpenFiles } from './settings/open-files.ts';
import { createReload } from './settings/reload.ts';
import { createSigningKeyWatch, type SigningKeyWatch } from './settings/signing-key-watch.ts';
import { findWeakSecrets } from './settings/weak-secrets.ts';
import { standbySurface, type StandbyReadiness } from './standby.ts';

/** Time that running tasks have to stop. */
const TASK_GRACE_MS = 20_000;

/** The daemon: databases, tasks, releases, localization, and the loopback API in front of them. Nothing is open before `start`. */
export class Daemon {
  readonly #configuration: DaemonConfiguration;
  readonly #options: DaemonOptions;
  readonly #settings: SettingsHolder;
  readonly #closers: Closers;
  readonly #stopping = new AbortController();
  readonly #api: DaemonApi;
  #readiness: StandbyReadiness = { ready: false, message: 'recovery is not complete' };
  #surface: ApiSurface;
  #graceMs = TASK_GRACE_MS;
  #url = '';

  constructor(configuration: DaemonConfiguration, options: DaemonOptions) {
    const settings = createSettingsHolder({ configuration, signingKeys: options.signingKeys });
    this.#configuration = configuration;
    this.#options = options;
    this.#settings = settings;
    this.#closers = createClosers(options.logger);
    this.#surface = standbySurface({ options, configuration, readiness: () => this.#readiness });
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
    const given = {
      configuration: this.#configuration,
      options: this.#options,
      settings: this.#settings,
      closers: this.#closers,
    };
    const waiting: Waiting = {
      clock: this.#options.clock,
      signal,
      onWait: (reason, failure) => this.#wait(reason, failure),
    };
    let modules: Modules | null = null;
    const serves = (): boolean => modules !== null && canServe(modules.releases);
    const { database, rebuilt } = await openDataFolder(given, waiting, serves);
    const writable = await becomeWriter(given, database, waiting);
    signal.throwIfAborted();
    this.#readiness = { ready: false, message: 'recovery is not complete' };
    const { writer, lease } = await openVolume(given, database, writable, waiting);
    signal.throwIfAborted();
    const opened = { ...given, database, rebuilt, writer, lease };
    modules = openModules(opened);
    const running = openSurface(opened, modules, (drain) => this.#restart(drain));
    this.#surface = running.surface;
    running.doctor.start();
    const { doctor } = running;
    const listen = this.#configuration.metrics;
    const metricsUrl = await serveMetrics({ ...modules, ...this.#options, ...given, listen, doctor });
    signal.throwIfAborted();
    await this.#recover(modules, running);
    return { url: this.#url, metricsUrl };
  }

  /** Stops cleanly, in this order: the API, running tasks, the attestor, threads, the database. */
  async stop(signal?: AbortSignal): Promise<void> {
    this.#stopping.abort(new Error('the daemon is stopping'));
    this.#readiness = { ready: false, message: 'the daemon is stopping' };
    // The API closes first, so that no request arrives while the other parts close.
    this.#closers.add('api', async (cut) => await this.#api.close(cut));
    await this.#closers.closeAll(signal);
  }

  /** Listens before the daemon may use its folders, so that a standby can be asked. */
  async #listen(): Promise<void> {
    const { listen, data } = this.#configuration;
    const tokenFile = tokenFileOf(this.#configuration);
    prepareDataFolder(data.dir);
    if (tokenFile !== null) await prepareToken(tokenFile, this.#options);
    const { socketPath, host, port } = listen;
    const { url } = await this.#api.listen(socketPath === undefined ? { host, port } : { socketPath });
    this.#url = url;
  }

  #wait(waitingFor: string, failure: StorageFailure | undefined): void {
    const { clock, logger } = this.#options;
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
    this.#options.requestShutdown('the restart action');
  }

  async #recover(modules: Modules, { keyWatch }: Running): Promise<void> {
    const { clock, logger } = this.#options;
    const { engine, events, schedules, releases, localization } = modules;
    const closers = this.#closers;
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
      startWork(modules, this.#settings.current().configuration, this.#options.bootId);
    };
    const what = 'the schedules of the configuration';
    closers.add('start of tasks', storeWhenPossible({ step, what, clock, logger }));
    this.#readiness = { ready: true, message: 'ready' };
    void localization.catchUp();
    void localization.glossary.open();
  }
}

/** What the parts are opened with. */
interface Given {
  readonly configuration: DaemonConfiguration;
  readonly options: DaemonOptions;
  readonly settings: SettingsHolder;
  readonly closers: Closers;
  /** The main database. */
  readonly database: Database;
  /** The damaged database that this one replaces since the start, or `null`. */
  readonly rebuilt: RebuiltDatabase | null;
  readonly writer: SnapshotWriter;
  readonly lease: StoreLease;
}

/** The modules of the daemon. */
interface Modules {
  readonly engine: TaskEngine;
  readonly events: ReleaseEvents;
  readonly schedules: Schedules;
  readonly upstream: Upstream;
  readonly releases: Releases;
  readonly localization: Localization;
  readonly backup: Backup;
}

/**
 * Opens the modules, each from those before it; nothing runs yet. A partner that comes later subscribes to an event of an
 * earlier one.
 */
function openModules({ configuration, options, settings, closers, database, writer, lease }: Given): Modules {
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

/** The routes of a running daemon, and what watches it. */
interface Running {
  readonly surface: ApiSurface;
  readonly doctor: Doctor;
  readonly keyWatch: SigningKeyWatch;
}

/**
 * Opens the routes of a running daemon: the actions and reports of its modules, its doctor and its conditions.
 *
 * @param requestRestart starts the shutdown; without `drain` the daemon does not wait for running tasks
 * @throws Error when two modules define an action or a report with the same name
 */
function openSurface(given: Given, modules: Modules, requestRestart: (drain: boolean) => void): Running {
  const { options, settings, closers, lease } = given;
  const { engine, schedules, upstream, releases, localization } = modules;
  const { clock, logger, supervision } = options;
  const { attestor } = releases;
  const reload = createReload({
    load: options.loadSettings,
    settings,
    upstream,
    attestor,
    problemsOfRules: async ({ parse }) => await problemsOfRules(parse),
    configureSchedules: (next) => {
      schedules.configure(scheduleIntervals(next));
      void localization.catchUp();
    },
    logger,
  });
  const keyWatch = createSigningKeyWatch({ settings, load: loadSigningKeys, attestor, clock, logger });
  const dataSpace = createDataSpace({ directory: given.configuration.data.dir, clock });
  const clockCheck = createClockCheck(clock, () => recordedTimes(releases));
  const checks = [...checksOf(given, modules), dataSpace.check, keyWatch.check, clockCheck.check];
  const doctor = createDoctor({ checks, clock, logger });
  closers.add('doctor', async () => await doctor.stop());
  const conditions = openConditions({
    settings,
    engine,
    releases,
    localized: localization.localized,
    doctor,
    lease,
    dataSpace,
    clockCheck,
    supervision,
    bootId: options.bootId,
    clock,
  });
  const supervised = (): boolean => supervision !== null || settings.current().configuration.supervised;
  const surface: ApiSurface = {
    reports: byName([
      ...createTaskReports(engine),
      ...releases.reports,
      ...schedules.reports,
      ...localization.reports,
      doctorReport(doctor, supervision, async () => await releases.storage.read()),
      logReport(options.logRing),
    ]),
    actions: byName([
      ...releases.actions,
      ...schedules.actions,
      ...localization.actions,
      ...createDaemonActions({ engine, reload, supervised, requestRestart }),
    ]),
    attestation: releases.attestation,
    conditions,
    damage: releases.damageIntake,
  };
  return { surface, doctor, keyWatch };
}

/** The checks of the modules and of what the daemon was given. */
function checksOf(
  { configuration, options, settings, database, rebuilt, writer, lease }: Given,
  { engine, schedules, releases, localization, backup }: Modules,
): readonly DoctorCheck[] {
  const { clock, supervision, bootId } = options;
  return [
    databaseCheck('database.main', database, clock, rebuilt),
    ...dataChecks(configuration.data.dir, bootId),
    leaseCheck(lease),
    ...storeChecks(configuration.snapshot.root, writer, bootId),
    ...releaseChecks(releases),
    processCheck(supervision, clock),
    laneCheck(engine),
    schedules.check,
    ...localization.checks,
    backup.check,
    openFilesCheck(readOpenFilesLimit(), () => daemonOpenFiles(settings.current().configuration)),
    secretsCheck(async () => await findWeakSecrets(settings.current().configuration)),
  ];
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
function startWork(
  { engine, schedules }: Pick<Modules, 'engine' | 'schedules'>,
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
