import { CHANNELS } from '../domain/release/channel.ts';
import { loadSigningKeys } from '../attestation/keys.ts';
import type { DaemonBase } from './daemon-base.ts';
import { createHashPool } from '../platform/hashing/hash-pool.ts';
import { createUlidFactory } from '../platform/process/ids.ts';
import { verifyIntervalSeconds, type DaemonConfiguration } from './settings/config.ts';
import { createReleaseEvents, type ReleaseEvents } from './events/release-events.ts';
import { SYNC_JOB } from './releases/jobs/release-jobs.ts';
import { crashLoopOf } from './reports/doctor-checks.ts';
import { createReleases, type Releases, type ReleasesConfiguration } from './releases/releases.ts';
import type { ScheduleIntervals } from './schedules/configured-schedules.ts';
import { BACKUP_JOB } from './backup/backup-job.ts';
import { parseSubscriber } from './parse/parse.ts';
import { problemsOfRules } from './parse/rules-state.ts';
import { createTextParts, type TextParts } from './text-parts.ts';
import type { Localized } from './localized/localized.ts';
import { createLocalizedParts } from './localized-parts.ts';
import { createClockLook, type ClockLook, type RecordedTime } from './reports/clock-check.ts';
import { createDataSpace, type DataSpace } from './reports/data-space.ts';
import { createSchedules, type Schedules } from './schedules/schedules.ts';
import { createSigningKeyWatch, type SigningKeyWatch } from './settings/signing-key-watch.ts';
import { createReload } from './settings/reload.ts';
import { createTaskEngine } from './tasks/create-task-engine.ts';
import type { TaskEngine } from './tasks/task-engine.ts';
import type { TaskResult } from './tasks/task.ts';
import { connectUpstream } from './upstream/adapters/connect-upstream.ts';
import type { UpstreamConfiguration } from './upstream/upstream-config.ts';
import { createUpstreamSource, type OwnedUpstream } from './upstream/adapters/upstream-source.ts';

/** The parts of the daemon behind its API. */
export interface DaemonParts {
  readonly engine: TaskEngine;
  readonly events: ReleaseEvents;
  readonly releases: Releases;
  readonly schedules: Schedules;
  readonly texts: TextParts;
  readonly localized: Localized;
  readonly reload: () => Promise<TaskResult>;
  readonly keyWatch: SigningKeyWatch;
  readonly dataSpace: DataSpace;
  readonly clockLook: ClockLook;
}

/** Assembles tasks, releases, events and schedules; nothing runs yet. */
export function createDaemonParts(base: DaemonBase): DaemonParts {
  const { configuration, options, settings, closers, database, writer, lease } = base;
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
  const subscribers = [parseSubscriber(() => settings.current().configuration.parse)];
  const events = createReleaseEvents({ ...options, database, engine, subscribers });
  const schedules = createSchedules({ ...options, database, engine, createId });
  const releases = createReleases({
    ...options,
    database,
    root: configuration.snapshot.root,
    writer,
    otherWriter: lease.otherWriter,
    onRecovered: () => lease.noteRecovered(),
    // No upstream has the patched files of a localized release, so it is published again, once the official one is sound.
    onSoundnessChanged: () => void localized.automation.catchUp(),
    pool,
    upstream,
    engine,
    events,
    signingKeys: () => settings.current().signingKeys,
    configuration: () => releasesConfiguration(settings.current().configuration),
    plannedSyncAt: () => schedules.nextRunOf(SYNC_JOB.kind),
    crashLoop: () => crashLoopOf(options.supervision, options.clock),
  });
  const texts = createTextParts(base, {
    engine,
    createId,
    pool,
    releases: releases.repository,
    plannedBackupAt: () => schedules.nextRunOf(BACKUP_JOB.kind),
    // The localized channel is made below, from the texts.
    automation: () => localized.automation.status(),
    publishBlockers: () => localized.publishBlockers(),
    rollbackOf: (releaseId) => localized.rollbackOf(releaseId),
  });
  const localized = createLocalizedParts(base, { engine, pool, releases, texts });
  engine.jobs.register(...releases.jobs, ...texts.jobs, ...localized.jobs);
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
      void texts.catchUp().then(localized.automation.catchUp);
    },
    logger,
  });
  const keyWatch = createSigningKeyWatch({ settings, load: loadSigningKeys, attestor, clock, logger });
  const dataSpace = createDataSpace({ directory: configuration.data.dir, clock });
  const clockLook = createClockLook(clock, () => recordedTimes(releases));
  return { engine, events, releases, schedules, texts, localized, reload, keyWatch, dataSpace, clockLook };
}

/** The times of the last events of the releases, of which each one repeats. */
function recordedTimes({ repository, syncState, attestor }: Releases): readonly RecordedTime[] {
  const verified = CHANNELS.flatMap((channel): readonly RecordedTime[] => {
    const current = repository.current(channel);
    if (current === null || current.verified_at === null) return [];
    return [{ what: `release ${current.release_id} was verified`, at: current.verified_at }];
  });
  const sync = syncState().report.last;
  const issued = attestor.attested();
  return [
    ...verified,
    ...(sync === null ? [] : [{ what: 'the last sync ended', at: sync.finished_at }]),
    ...(issued === null ? [] : [{ what: 'the last attestation was issued', at: issued.issued_at }]),
  ];
}

/** The intervals of the schedules that a configuration asks for. */
export function scheduleIntervals(configuration: DaemonConfiguration): ScheduleIntervals {
  const { sync, retention, backup, upstream } = configuration;
  return {
    syncSeconds: upstream.kind === 'none' || sync.intervalSeconds === 0 ? null : sync.intervalSeconds,
    verifySeconds: verifyIntervalSeconds(configuration),
    cleanupSeconds: retention.cleanupIntervalSeconds === 0 ? null : retention.cleanupIntervalSeconds,
    backupSeconds: backup.intervalSeconds === 0 ? null : backup.intervalSeconds,
  };
}

function releasesConfiguration({
  attestation,
  retention,
  upstream,
  verify,
  repair,
  snapshot,
  releases,
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
    announceSeconds: releases.announceSeconds,
    switchLeadSeconds: releases.switchLeadSeconds,
    automaticRepair: repair.automatic,
  };
}
