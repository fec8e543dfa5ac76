import type { Channel } from '../../domain/release/channel.ts';
import type { DaemonCondition, DaemonConditionCode } from '../../domain/service-state/daemon-conditions.ts';
import { describeTrouble, type OriginTrouble } from '../../releases/mirror/origin-trouble.ts';
import type { DaemonDamageFinder } from '../../releases/records/damage-records.ts';
import type { StorageFailure } from '../../engine/database/storage-failure.ts';

/** A volume without free space, or one that cannot be written for another cause. */
export interface RefusingVolume {
  /** Unix seconds. */
  readonly since: number | null;
  /** Why it refuses, for the message, where more is known than that it does. */
  readonly why?: string | null;
}

/** A database with work of people that cannot be used. */
interface UnusableDatabase {
  /** Its content, as "the Glossary". */
  readonly content: string;
  /** Unix seconds. */
  readonly since: number;
}

/** The damage of one current release. */
export interface DamagedRelease {
  readonly channel: Channel;
  readonly releaseId: string;
  /** Damaged entries; 0 when the manifest or the record is at fault. */
  readonly count: number;
  /** The finder of the first of them; `null` when the manifest or the record is at fault. */
  readonly foundBy: DaemonDamageFinder | null;
  /** Unix seconds. */
  readonly since: number | null;
  /** Its last automatic repair that failed. */
  readonly failedRepair: { readonly triedAt: number; readonly nextAt: number } | null;
  /** Whether an automatic publication waits or runs, which builds the patched files of a localized release again. */
  readonly isPublished: boolean;
}

/** By volume; `null` for one that can be written. */
type VolumeFacts = Readonly<Record<'snapshot' | 'data', RefusingVolume | null>>;

/** The facts from which the conditions follow. Times are Unix seconds. */
export interface ConditionFacts {
  readonly hasOfficial: boolean;
  readonly hasUpstream: boolean;
  readonly sync: {
    /** Since when a sync runs; `null` when none does. */
    readonly runningSince: number | null;
    readonly consecutiveFailures: number;
    readonly failingSince: number | null;
    /** The code of the last failure. */
    readonly code: string | null;
    /** The code with which an attempt failed of the sync that waits or runs; `null` when none did. */
    readonly retriedCode: string | null;
    /** Until when upstream asked a running sync to wait, Unix seconds; `null` when it did not. */
    readonly waitsUntil: number | null;
    readonly nextAt: number | null;
  };
  /** The volumes that are full, and since when, if that is known. */
  readonly full: VolumeFacts;
  /** The volumes that cannot be written. One that is full can be among them. */
  readonly unwritable: VolumeFacts;
  readonly damaged: readonly DamagedRelease[];
  /** When the next repair is due; `null` when nobody repairs without a request, and none is requested. */
  readonly nextRepairAt: number | null;
  /** Whether recorded times lie in the future. */
  readonly isClockOff: boolean;
  readonly isAttesting: boolean;
  /** The origin of an edge that cannot be followed; `null` while it can, and without an origin. */
  readonly origin: OriginTrouble | null;
  readonly isDatabaseDamaged: boolean;
  /** The databases with work of people that cannot be used. */
  readonly unusable: readonly UnusableDatabase[];
  readonly crashLoopSince: number | null;
  readonly stale: {
    readonly releaseId: string;
    readonly since: number | null;
    /** Whether the release that replaces it is on its way. */
    readonly isFollowed: boolean;
  } | null;
  /** The current localized release whose last full verification is too old for the attestation. */
  readonly unverified: { readonly releaseId: string } | null;
  /** Why a localized channel that is copied from an origin has no release; `null` where it is made here. */
  readonly mirrored: string | null;
  readonly publishingStoppedSince: number | null;
  /** The localized release whose rollback was begun and has not taken effect. */
  readonly openRollbackOf: string | null;
  /** The localized release from which a rollback withdrew the channel, if nothing was published since. */
  readonly withdrawn: { readonly releaseId: string; readonly since: number } | null;
  readonly now: number;
}

/** The names of finders of damage. */
const FINDERS: Readonly<Record<Exclude<DaemonDamageFinder, 'server'>, string>> = {
  verify: 'verify',
  refresh: 'refresh',
  repair: 'a repair',
  sync: 'a sync',
  publish: 'a publish',
  boot: 'the start of the daemon',
};

/** The conditions that these facts give, the most urgent first. Pure; the messages hold no path, URL or text of an error. */
export function conditionsOf(facts: ConditionFacts): readonly DaemonCondition[] {
  return [
    ...troubles(facts),
    ...syncConditions(facts),
    ...facts.damaged.flatMap((damaged) => repairConditions(damaged, facts)),
    ...localizedConditions(facts),
  ];
}

function troubles(facts: ConditionFacts): readonly DaemonCondition[] {
  const { isDatabaseDamaged, unusable, crashLoopSince, full, isClockOff, isAttesting } = facts;
  return [
    ...when(isDatabaseDamaged, 'database_damaged', 'the database of the daemon is damaged'),
    ...when(crashLoopSince !== null, 'crash_loop', 'the daemon crashes repeatedly', {
      since: crashLoopSince,
    }),
    ...when(
      full.data !== null,
      'data_volume_full',
      'the volume of the data folder has too little free space',
      full.data ?? {},
    ),
    ...when(
      full.snapshot !== null,
      'volume_full',
      'the snapshot volume has too little free space',
      full.snapshot ?? {},
    ),
    ...unwritableVolumes(facts),
    ...when(
      unusable.length > 0,
      'work_database_unusable',
      `the database of ${unusable.map(({ content }) => content).join(' and of ')} cannot be used`,
      { since: Math.min(...unusable.map(({ since }) => since)) },
    ),
    ...when(
      isClockOff,
      'clock_off',
      'times that the daemon recorded lie in the future: its wall clock is behind, or was ahead',
    ),
    ...when(
      facts.origin !== null,
      'origin_not_followed',
      facts.origin === null ? '' : describeTrouble(facts.origin, facts.now),
      { since: facts.origin?.since ?? null },
    ),
    ...when(!isAttesting, 'attestation_failing', 'the daemon cannot issue attestations'),
  ];
}

function unwritableVolumes({ full, unwritable }: ConditionFacts): readonly DaemonCondition[] {
  const one = (volume: RefusingVolume | null, name: string): readonly DaemonCondition[] => {
    const why = volume?.why ?? null;
    const message = `the daemon cannot write to ${name}${why === null ? '' : `: ${why}`}`;
    return when(volume !== null, 'volume_unwritable', message, { since: volume?.since ?? null });
  };
  return [
    ...one(full.snapshot === null ? unwritable.snapshot : null, 'the snapshot volume'),
    ...one(full.data === null ? unwritable.data : null, 'the volume of the data folder'),
  ];
}

function syncConditions({ sync, hasOfficial, hasUpstream }: ConditionFacts): readonly DaemonCondition[] {
  const {
    runningSince,
    consecutiveFailures: failures,
    failingSince,
    code,
    retriedCode,
    nextAt,
    waitsUntil,
  } = sync;
  const failed = failures === 1 ? 'the last sync failed' : `the last ${failures} syncs failed`;
  const times = { since: failingSince, next_try: nextAt };
  // The attempts of a first sync can last for minutes, and without it there is nothing to serve.
  const isRetried = !hasOfficial && failures === 0 && retriedCode !== null;
  const runs = waitsUntil === null ? 'a sync runs' : 'a sync waits, because upstream asked it to retry later';
  const attempt = `its last attempt failed (${retriedCode ?? ''})`;
  return [
    ...when(runningSince !== null, 'syncing', isRetried ? `${runs}; ${attempt}` : runs, {
      since: runningSince,
      next_try: waitsUntil,
    }),
    ...when(isRetried, 'sync_failed', `the first sync has not succeeded; ${attempt}`, { next_try: nextAt }),
    ...when(failures > 0, 'sync_failed', code === null ? failed : `${failed} (${code})`, times),
    ...when(
      !hasOfficial && !hasUpstream,
      'no_upstream',
      'there is no official release, and no upstream is configured',
    ),
    ...when(
      !hasOfficial && hasUpstream && failures === 0,
      'never_synced',
      'no official release was ever synced',
      { next_try: nextAt },
    ),
  ];
}

function repairConditions(
  { channel, releaseId, count, foundBy, since, failedRepair, isPublished }: DamagedRelease,
  { nextRepairAt, now }: ConditionFacts,
): readonly DaemonCondition[] {
  const files = count === 1 ? '1 damaged file' : `${count} damaged files`;
  const what = count === 0 ? 'the manifest or the record' : files;
  // A server that found the damage describes it in its own message.
  const finder = foundBy === null || foundBy === 'server' ? '' : `, found by ${FINDERS[foundBy]}`;
  if (isPublished && count > 0) {
    const message = `a publication builds those of ${what} of release ${releaseId} again that are patched${finder}`;
    return when(true, 'repairing', message, { channel, since });
  }
  if (failedRepair !== null) {
    return when(true, 'repair_failed', `the last repair of ${what} of release ${releaseId} failed`, {
      channel,
      since: failedRepair.triedAt,
      next_try: failedRepair.nextAt,
    });
  }
  return when(
    nextRepairAt !== null,
    'repairing',
    `the daemon repairs ${what} of release ${releaseId}${finder}`,
    {
      channel,
      since,
      next_try: nextRepairAt !== null && nextRepairAt > now ? nextRepairAt : null,
    },
  );
}

function localizedConditions({
  mirrored,
  stale,
  unverified,
  publishingStoppedSince,
  withdrawn,
  openRollbackOf,
}: ConditionFacts): readonly DaemonCondition[] {
  const staleText = `localized release ${stale?.releaseId ?? ''} was made for an earlier official release`;
  const times = { since: stale?.since ?? null };
  return [
    ...when(mirrored !== null, 'localized_mirrored', mirrored ?? '', { channel: 'localized' }),
    ...when(
      stale?.isFollowed === true,
      'localized_following',
      `${staleText}, and the one for the current official release is being made`,
      times,
    ),
    ...when(stale !== null, 'localized_stale', staleText, times),
    ...when(
      unverified !== null,
      'localized_unverified',
      `the last full verification of localized release ${unverified?.releaseId ?? ''} is too old`,
    ),
    ...when(
      withdrawn !== null,
      'localized_withdrawn',
      `localized release ${withdrawn?.releaseId ?? ''} was rolled back, and none is published since`,
      { since: withdrawn?.since ?? null },
    ),
    ...when(
      publishingStoppedSince !== null && withdrawn === null,
      'publishing_stopped',
      openRollbackOf === null
        ? 'automatic publishing is stopped after a rollback'
        : `the rollback of localized release ${openRollbackOf} had no effect; roll back again`,
      { since: publishingStoppedSince },
    ),
  ];
}

function when(
  holds: boolean,
  code: DaemonConditionCode,
  message: string,
  more: Partial<DaemonCondition> = {},
): readonly DaemonCondition[] {
  return holds ? [{ code, message, since: null, next_try: null, ...more }] : [];
}

type Refusal = readonly [code: DaemonConditionCode, message: string];

const SNAPSHOT_REFUSES: Refusal = ['volume_unwritable', 'the daemon cannot write to the snapshot volume'];
const DATA_REFUSES: Refusal = [
  'volume_unwritable',
  'the daemon cannot write to the volume of the data folder',
];

/** The condition of each failure of a volume. */
const REFUSALS: ReadonlyMap<string, Refusal> = new Map<string, Refusal>([
  ['no_space', ['volume_full', 'the snapshot volume has too little free space, and the daemon waits for it']],
  ['read_only', SNAPSHOT_REFUSES],
  ['io_error', SNAPSHOT_REFUSES],
  ['store_unavailable', SNAPSHOT_REFUSES],
  [
    'data_full',
    [
      'data_volume_full',
      'the volume of the data folder has too little free space, and the daemon waits for it',
    ],
  ],
  ['data_read_only', DATA_REFUSES],
  ['data_io_error', DATA_REFUSES],
]);

/**
 * The condition of a daemon that waits until a volume can be written.
 *
 * @param since Unix seconds
 * @returns none for a failure that is not that of a volume
 */
export function refusedVolume({ code }: StorageFailure, since: number): readonly DaemonCondition[] {
  const refusal = REFUSALS.get(code);
  return refusal === undefined ? [] : [{ code: refusal[0], message: refusal[1], since, next_try: null }];
}
