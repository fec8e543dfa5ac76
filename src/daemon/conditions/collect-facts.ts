import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { storageFailureOf } from '../../engine/database/storage-failure.ts';
import type { Attestor } from '../../releases/attest/attestor.ts';
import { isFreshAt } from '../../releases/attest/statement-rules.ts';
import { DAMAGE_REPAIR_JOB, REPAIR_JOB, SYNC_JOB } from '../../releases/jobs/release-jobs.ts';
import type { FollowState } from '../../localization/localized/automation/follow-rules.ts';
import type { RollbackRecords } from '../../localization/localized/rollback/rollback-records.ts';
import { stopOf, withdrawnBy } from '../../localization/localized/rollback/rollback-effect.ts';
import type { ReleaseRepository } from '../../releases/records/release-repository.ts';
import type { OriginTrouble } from '../../releases/mirror/origin-trouble.ts';
import type { RepairAttempts } from '../../releases/records/repair-attempts.ts';
import { isStale } from '../../releases/records/retention-rules.ts';
import type { StoreLease } from '../../snapshot/volume/store-lease.ts';
import type { SyncState } from '../../releases/sync/sync-state.ts';
import type { ClockCheck } from '../reports/clock-check.ts';
import type { DataSpace } from '../reports/data-space.ts';
import type { Doctor, DoctorResult } from '../reports/doctor-report.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { ConditionFacts, DamagedRelease, RefusingVolume } from './conditions-of.ts';
import { isFollowing, isPublishing, readFollowWork } from '../../localization/following.ts';

/** Where the facts come from: what the daemon knows already. Nothing is waited for. */
export interface FactSources {
  readonly releases: ReleaseRepository;
  readonly attempts: RepairAttempts;
  readonly attestor: Attestor;
  readonly engine: TaskEngine;
  readonly hasUpstream: () => boolean;
  readonly syncState: () => SyncState;
  /** Why a localized channel that is copied from an origin has no release; `null` where it is made here. */
  readonly mirroredLocalized: () => string | null;
  /** The origin that cannot be followed; `null` while it can, and without one. */
  readonly originTrouble: () => OriginTrouble | null;
  readonly doctor: Doctor;
  readonly lease: StoreLease;
  readonly dataSpace: DataSpace;
  readonly clockCheck: ClockCheck;
  /** Since when the daemon is in a crash loop, Unix seconds; `null` when it is in none. */
  readonly crashLoopSince: () => number | null;
  /** Whether a localized release follows the official one without a request. */
  readonly automation: () => FollowState;
  readonly rollbacks: RollbackRecords;
  readonly repairsAutomatically: () => boolean;
  /** Seconds after which the last full verification of a release no longer supports a statement. */
  readonly maxVerifyAgeSeconds: () => number;
  readonly clock: Clock;
}

/** Collects the facts of this moment. */
export function collectFacts(sources: FactSources): ConditionFacts {
  const { releases, attestor, engine, doctor, clock } = sources;
  const syncState = sources.syncState();
  const { report, failingSince, retriedCode, wait } = syncState;
  const { last, next_at: nextAt, consecutive_failures: consecutiveFailures } = report;
  const code = consecutiveFailures > 0 ? (last?.code ?? null) : null;
  const now = unixSeconds(clock);
  const mirrored = sources.mirroredLocalized();
  return {
    hasOfficial: releases.pointer('official') !== null,
    hasUpstream: sources.hasUpstream(),
    sync: {
      runningSince: engine.runningSince(SYNC_JOB.kind),
      consecutiveFailures,
      failingSince,
      code,
      retriedCode,
      waitsUntil: wait === null ? null : Math.ceil(wait.until / 1000),
      nextAt,
    },
    full: fullVolumes(sources, code, syncState),
    damaged: CHANNELS.flatMap((channel) => damageOf(sources, channel)),
    nextRepairAt: nextRepairAt(sources, now),
    isClockOff: sources.clockCheck.isBehindRecords(),
    origin: sources.originTrouble(),
    isAttesting: attestor.status().status !== 'failing',
    isDatabaseDamaged: failureOf(doctor, 'database.main') !== null,
    unwritable: unwritableVolumes(sources),
    unusable: unusableDatabases(doctor),
    crashLoopSince: sources.crashLoopSince(),
    stale: staleRelease(sources, now),
    unverified: unverifiedRelease(sources, now),
    mirrored,
    // A rollback from before the channel was copied no longer counts.
    ...(mirrored === null ? publishingStop(sources) : NO_STOP),
    withdrawn: mirrored === null ? withdrawnRelease(sources) : null,
    now,
  };
}

/** Failure codes of tasks on a full volume. */
const FULL: ReadonlyMap<string | undefined, 'snapshot' | 'data'> = new Map([
  ['no_space', 'snapshot'],
  ['data_full', 'data'],
]);

/** A volume is full when a check finds it full, when it refuses an attestation, or from a refused sync until it has space again. */
function fullVolumes(
  { attestor, doctor, dataSpace }: FactSources,
  syncCode: string | null,
  sync: SyncState,
): ConditionFacts['full'] {
  const refused = FULL.get(storageFailureOf(attestor.volumeError())?.code);
  const failed = FULL.get(syncCode ?? undefined);
  const fullOf = (volume: 'snapshot' | 'data', since: number | null): RefusingVolume | null => {
    if (since !== null) return { since };
    if (refused === volume) return { since: null };
    return failed === volume && !hasSpaceAgain(doctor, volume, sync) ? { since: sync.failingSince } : null;
  };
  return {
    snapshot: fullOf('snapshot', fullSince(doctor)),
    data: fullOf('data', dataSpace.fullSince()),
  };
}

/** The checks of whether a volume can be written and has space. */
const SPACE_CHECKS = {
  snapshot: ['store.writable', 'store.space'],
  data: ['data.writable', 'data.space'],
} as const;

/** Whether the doctor has checked a volume after the last sync ended, and found the space that the sync lacked. */
function hasSpaceAgain(
  doctor: Doctor,
  volume: 'snapshot' | 'data',
  { report, missedBytes }: SyncState,
): boolean {
  // A sync that did not know its size can fill the same space again.
  if (volume === 'snapshot' && missedBytes === null) return false;
  const refusedAt = report.last?.finished_at ?? 0;
  return SPACE_CHECKS[volume].every((id) => {
    const found = doctor.latest().find((check) => check.id === id);
    if (found === undefined || found.status === 'failing' || found.seenAt <= refusedAt) return false;
    return (found.freeBytes ?? Infinity) >= (missedBytes ?? 0);
  });
}

/** The result of a check of the doctor that fails; `null` when it does not. */
function failureOf(doctor: Doctor, id: string): DoctorResult | null {
  const found = doctor.latest().find((check) => check.id === id);
  return found?.status === 'failing' ? found : null;
}

/** Since when the snapshot volume is full, Unix seconds. Free bytes do not help a volume without inodes, which refuses a file. */
function fullSince(doctor: Doctor): number | null {
  const refused = failureOf(doctor, 'store.writable');
  const found = failureOf(doctor, 'store.space') ?? (refused?.lacksSpace === true ? refused : null);
  return found?.since ?? null;
}

/** Failure codes of writes that a volume refuses for another cause than its space. */
const UNWRITABLE: ReadonlySet<string | undefined> = new Set(['read_only', 'io_error']);

/**
 * A volume is unwritable when a check fails, and until it holds an attestation that it refused: the attestor retries at another
 * time than the doctor checks. The lease is renewed every few seconds, so it may notice first.
 */
function unwritableVolumes({ doctor, lease, attestor }: FactSources): ConditionFacts['unwritable'] {
  const refused = (id: string): RefusingVolume | null => {
    const failure = failureOf(doctor, id);
    // Lack of space is another condition.
    return failure === null || failure.lacksSpace === true ? null : { since: failure.since };
  };
  const { state, replacedBy } = lease.status();
  const store = refused('store.writable');
  const refusedAttestation = UNWRITABLE.has(storageFailureOf(attestor.volumeError())?.code)
    ? { since: null }
    : null;
  return {
    snapshot:
      state === 'held' || state === 'expired'
        ? (store ?? refusedAttestation)
        : { since: store?.since ?? null, why: replacedBy },
    data: refused('data.writable'),
  };
}

/** The content of each database with work of people, by its check. */
const WORK_DATABASES = {
  'database.translation': 'the translations',
  'database.memory': 'the Translation Memory',
  'database.glossary': 'the Glossary',
} as const;

function unusableDatabases(doctor: Doctor): ConditionFacts['unusable'] {
  return Object.entries(WORK_DATABASES).flatMap(([id, content]) => {
    const failure = failureOf(doctor, id);
    return failure === null ? [] : [{ content, since: failure.since }];
  });
}

/** The damage of the current release of a channel; none when it is sound. */
function damageOf({ releases, attempts, engine }: FactSources, channel: Channel): readonly DamagedRelease[] {
  const current = releases.current(channel);
  if (current?.state !== 'damaged') return [];
  const { release_id: releaseId, damaged_at: since } = current;
  const [first] = releases.damageOf(channel, releaseId, 1);
  const failed = attempts.lastFailureOf(current);
  return [
    {
      channel,
      releaseId,
      count: releases.damageCounts(channel, releaseId).all,
      foundBy: first?.found_by ?? null,
      since,
      failedRepair:
        failed === null ? null : { triedAt: failed.tried_at, nextAt: Math.floor(failed.next_at_ms / 1000) },
      isPublished: channel === 'localized' && isPublishing(engine),
    },
  ];
}

/** Automatic repairs are due immediately, unless they wait after an earlier one. */
function nextRepairAt({ attempts, engine, repairsAutomatically }: FactSources, now: number): number | null {
  const isRunning = [REPAIR_JOB, DAMAGE_REPAIR_JOB].some(({ kind }) => engine.runningSince(kind) !== null);
  if (isRunning) return now;
  const dueMs = repairsAutomatically() ? attempts.nextAtMs() : null;
  return dueMs === null ? null : Math.floor(dueMs / 1000);
}

function staleRelease({ releases, automation, engine }: FactSources, now: number): ConditionFacts['stale'] {
  const current = releases.current('localized');
  const official = releases.pointer('official');
  if (current === null || !isStale(current, official?.release_id ?? null)) return null;
  const { release_id: releaseId, stale_since: since } = current;
  const work = readFollowWork(engine, automation().awaits);
  const isFollowed =
    releases.announcedOf('localized') !== null || isFollowing(work, official?.since ?? since ?? 0, now);
  return { releaseId, since, isFollowed };
}

const NO_STOP = { publishingStoppedSince: null, openRollbackOf: null };

function publishingStop(sources: FactSources) {
  const { automation, engine } = sources;
  const { state, since } = automation();
  const stop = state === 'stopped' ? stopOf({ ...sources, tasks: engine }) : null;
  // A rollback that runs may still take effect.
  if (stop === null || stop.progress === 'in_progress') return NO_STOP;
  const isOpen = stop.progress === 'without_effect';
  return { publishingStoppedSince: since, openRollbackOf: isOpen ? stop.rollback.from_release_id : null };
}

function withdrawnRelease(sources: FactSources): ConditionFacts['withdrawn'] {
  const rollback = withdrawnBy(sources);
  return rollback === null
    ? null
    : { releaseId: rollback.from_release_id, since: rollback.switched_at ?? rollback.at };
}

function unverifiedRelease(
  { releases, maxVerifyAgeSeconds }: FactSources,
  now: number,
): ConditionFacts['unverified'] {
  const current = releases.current('localized');
  if (current === null || current.state === 'damaged') return null;
  return isFreshAt(current, now, maxVerifyAgeSeconds()) ? null : { releaseId: current.release_id };
}
