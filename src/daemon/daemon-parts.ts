import { loadSigningKeys, type SigningKey } from '../attestation/keys.ts';
import type { LanguagePair } from '../domain/memory/memory-record.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Failpoints } from '../platform/files/failpoints.ts';
import type { Logger } from '../platform/logging/logging.ts';
import type { SecretMask } from '../platform/logging/secret-mask.ts';
import type { LogRing } from './reports/log-ring.ts';
import { createHashPool } from '../platform/hashing/hash-pool.ts';
import { createUlidFactory } from '../platform/process/ids.ts';
import type { SnapshotWriter } from '../snapshot/snapshot-writer.ts';
import type { StoreLease } from '../snapshot/volume/store-lease.ts';
import type { Closers } from './closers.ts';
import { verifyIntervalSeconds, type DaemonConfiguration } from './settings/config.ts';
import type { RebuiltDatabase } from './database/main-database.ts';
import type { Database } from './database/sqlite-database.ts';
import { createReleaseEvents, type ReleaseEvents } from './events/release-events.ts';
import { SYNC_JOB } from './releases/jobs/release-jobs.ts';
import { crashLoopOf } from './reports/doctor-checks.ts';
import { createReleases, type Releases, type ReleasesConfiguration } from './releases/releases.ts';
import { createGlossary, type Glossary } from './glossary/glossary.ts';
import type { ScheduleIntervals } from './schedules/configured-schedules.ts';
import { createMemory, type Memory } from './memory/memory.ts';
import { createParse, parseSubscriber, type Parse } from './parse/parse.ts';
import type { ReleaseSource } from './parse/parse-task.ts';
import { problemsOfRules } from './parse/rules-state.ts';
import type { ParseConfiguration } from './parse/rules/parse-config.ts';
import { createSchedules, type Schedules } from './schedules/schedules.ts';
import type { SettingsHolder, SettingsLoader } from './settings/daemon-settings.ts';
import { createSigningKeyWatch, type SigningKeyWatch } from './settings/signing-key-watch.ts';
import { createReload } from './settings/reload.ts';
import type { Supervision } from './supervisor/supervision.ts';
import { createTaskEngine } from './tasks/create-task-engine.ts';
import type { TaskEngine } from './tasks/task-engine.ts';
import type { TaskResult } from './tasks/task.ts';
import { connectUpstream } from './upstream/adapters/connect-upstream.ts';
import type { UpstreamConfiguration } from './upstream/upstream-config.ts';
import { createUpstreamSource, type OwnedUpstream } from './upstream/adapters/upstream-source.ts';

export interface DaemonOptions {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly logger: Logger;
  /** Masks the tokens in logs and records; the daemon adds its own. */
  readonly secrets: SecretMask;
  /** The newest lines of the log, for daemon.logs. */
  readonly logRing: Pick<LogRing, 'tail'>;
  readonly failpoints: Failpoints;
  readonly signingKeys: readonly SigningKey[];
  /** Reads the configuration and the keys again, for the reload action. */
  readonly loadSettings: SettingsLoader;
  /** The processes before this one; `null` without a supervisor. */
  readonly supervision: Supervision | null;
  readonly version: string;
  /** Different for every start of the process. */
  readonly bootId: string;
  /** Starts a clean shutdown: for the restart action, or with an exit code when the lease of the volume is lost. */
  readonly requestShutdown: (reason: string, exitCode?: number) => void;
}

/** The collaborators that all parts share. */
export interface DaemonBase {
  readonly configuration: DaemonConfiguration;
  readonly options: DaemonOptions;
  readonly settings: SettingsHolder;
  readonly closers: Closers;
  readonly database: Database;
  /** The damaged database that this one replaces since the start, or `null`. */
  readonly rebuilt: RebuiltDatabase | null;
  readonly writer: SnapshotWriter;
  readonly lease: StoreLease;
}

/** The parts of the daemon behind its API. */
export interface DaemonParts {
  readonly engine: TaskEngine;
  readonly events: ReleaseEvents;
  readonly releases: Releases;
  readonly schedules: Schedules;
  readonly parse: Parse;
  readonly memory: Memory;
  readonly glossary: Glossary;
  readonly reload: () => Promise<TaskResult>;
  readonly keyWatch: SigningKeyWatch;
}

/** Assembles tasks, releases, events and schedules; nothing runs yet. */
export function createDaemonParts({
  configuration,
  options,
  settings,
  closers,
  database,
  writer,
  lease,
}: DaemonBase): DaemonParts {
  const { clock, logger } = options;
  const createId = createUlidFactory({ clock, randomBytes: options.randomBytes });
  const pool = createHashPool({ threads: configuration.hashing.threads });
  closers.add('hash pool', async () => await pool.close());
  const connect = (wanted: UpstreamConfiguration): OwnedUpstream | null =>
    connectUpstream(wanted, { ...options, pool });
  const upstream = createUpstreamSource(connect(configuration.upstream), (error) => {
    logger.warn({ err: error }, 'connections to the previous upstream could not be closed');
  });
  closers.add('upstream', async () => await upstream.close());
  const engine = createTaskEngine({ ...options, database, createId });
  const parseSettings = (): ParseConfiguration => settings.current().configuration.parse;
  const subscribers = [parseSubscriber(parseSettings)];
  const events = createReleaseEvents({ ...options, database, engine, subscribers });
  const schedules = createSchedules({ ...options, database, engine, createId });
  const releases = createReleases({
    ...options,
    database,
    root: configuration.snapshot.root,
    writer,
    otherWriter: lease.otherWriter,
    onRecovered: () => {
      lease.noteRecovered();
    },
    pool,
    upstream,
    engine,
    events,
    signingKeys: () => settings.current().signingKeys,
    configuration: () => releasesConfiguration(settings.current().configuration),
    plannedSyncAt: () => schedules.nextRunOf(SYNC_JOB.kind),
    crashLoop: () => crashLoopOf(options.supervision, options.clock),
  });
  const parse = createParse({
    ...options,
    dataDirectory: configuration.data.dir,
    engine,
    releases: releaseSource(configuration.snapshot.root, releases),
    configuration: parseSettings,
  });
  closers.add('parse index', async () => await parse.close());
  const { memory, glossary } = createTextStores(
    { configuration, options, settings, closers },
    engine,
    createId,
  );
  engine.jobs.register(...releases.jobs, ...parse.jobs, ...memory.jobs);
  const { attestor } = releases;
  const reload = createReload({
    load: options.loadSettings,
    settings,
    upstream,
    connect,
    attestor,
    problemsOfRules: async (configuration) => await problemsOfRules(configuration.parse),
    configureSchedules: (configuration) => {
      schedules.configure(scheduleIntervals(configuration));
      void parse.catchUp();
    },
    logger,
  });
  const keyWatch = createSigningKeyWatch({ settings, load: loadSigningKeys, attestor, clock, logger });
  return { engine, events, releases, schedules, parse, memory, glossary, reload, keyWatch };
}

/** Assembles the stores of human work on texts. */
function createTextStores(
  {
    configuration,
    options,
    settings,
    closers,
  }: Pick<DaemonBase, 'configuration' | 'options' | 'settings' | 'closers'>,
  engine: TaskEngine,
  createId: () => string,
): Pick<DaemonParts, 'memory' | 'glossary'> {
  const shared = { ...options, dataDirectory: configuration.data.dir, engine, createId };
  const memory = createMemory({
    ...shared,
    configuration: () => settings.current().configuration.memory,
    pair: () => languagePair(settings.current().configuration),
  });
  closers.add('Translation Memory', async () => await memory.close());
  const glossary = createGlossary({
    ...shared,
    configuration: () => settings.current().configuration.glossary,
    languages: () => settings.current().configuration.translation,
  });
  closers.add('Glossary', async () => await glossary.close());
  return { memory, glossary };
}

/** The configured languages, as records name them. */
function languagePair({ translation }: DaemonConfiguration): LanguagePair {
  return { source_language: translation.sourceLanguage, target_language: translation.targetLanguage };
}

/** The releases whose text is indexed. */
function releaseSource(root: string, { repository }: Releases): ReleaseSource {
  return {
    root,
    current: () => {
      const current = repository.current('official');
      if (current === null || current.snapshot_id === null) return null;
      return { releaseId: current.release_id, snapshotId: current.snapshot_id };
    },
    kept: () => repository.kept().map(({ release_id }) => release_id),
  };
}

/** The intervals of the schedules that a configuration asks for. */
export function scheduleIntervals(configuration: DaemonConfiguration): ScheduleIntervals {
  const { sync, retention, upstream } = configuration;
  return {
    syncSeconds: upstream.kind === 'none' || sync.intervalSeconds === 0 ? null : sync.intervalSeconds,
    verifySeconds: verifyIntervalSeconds(configuration),
    cleanupSeconds: retention.cleanupIntervalSeconds === 0 ? null : retention.cleanupIntervalSeconds,
  };
}

function releasesConfiguration({
  attestation,
  retention,
  upstream,
  verify,
  repair,
  snapshot,
}: DaemonConfiguration): ReleasesConfiguration {
  return {
    attestationTtlSeconds: attestation.ttlSeconds,
    maxVerifyAgeSeconds: attestation.maxVerifyAgeSeconds,
    // Early enough that the new verification ends before the old one expires.
    verifyAtBootAfterSeconds: Math.floor(attestation.maxVerifyAgeSeconds / 2),
    retention: {
      retained: retention.retainedCount,
      maxAgeSeconds: retention.retainedSeconds,
      keep: retention.keep,
      graceSeconds: retention.graceSeconds,
    },
    downloadConcurrency: upstream.concurrency,
    verifyConcurrency: verify.concurrency,
    reserveBytes: snapshot.reserveBytes,
    automaticRepair: repair.automatic,
  };
}
