import type { Channel } from '../release/channel.ts';

/**
 * The conditions that the daemon reports beside its attestation. The text says what it means. A daemon reports a condition while it
 * lasts.
 */
export const DAEMON_CONDITIONS = {
  starting: 'It recovers from an earlier process, or waits for its volume, and does no work yet.',
  database_damaged: 'Its database is damaged.',
  work_database_unusable: 'A database with work of people cannot be used.',
  crash_loop: 'Its process crashes repeatedly.',
  volume_full: 'The snapshot volume has too little free space.',
  volume_unwritable: 'A volume that it writes to refuses writes for another cause than its space.',
  data_volume_full: 'The volume of its data folder has too little free space.',
  clock_off: 'Times that it recorded lie in the future: its wall clock is behind, or was ahead.',
  origin_not_followed: 'Polls of the origin of this edge bring no attestation that may be followed.',
  attestation_failing: 'It cannot issue attestations.',
  syncing: 'A sync runs.',
  never_synced: 'No sync has made a release current yet.',
  no_upstream: 'There is no release, and no upstream to fetch one from.',
  sync_failed: 'The last sync failed, or the last attempt of the first one.',
  repairing: 'Damaged files of a current release are being repaired.',
  repair_failed: 'The last repair failed, and the damage remains.',
  localized_mirrored: 'The localized channel is copied from an origin, and nothing is published to it here.',
  localized_stale: 'The localized release was made for an earlier official release.',
  localized_following:
    'A localized release for the current official release is being made, without a request.',
  localized_unverified:
    'The last full verification of the localized release is too old, so the attestation leaves it out.',
  localized_withdrawn: 'A rollback has withdrawn the localized channel, and nothing was published since.',
  publishing_stopped: 'Automatic publishing is stopped after a rollback.',
} as const;

export type DaemonConditionCode = keyof typeof DAEMON_CONDITIONS;

/** All codes. */
export const DAEMON_CONDITION_CODES = Object.keys(DAEMON_CONDITIONS) as DaemonConditionCode[];

/** One condition of the daemon. It is public: no path, no URL and no text of an error. */
export interface DaemonCondition {
  readonly code: DaemonConditionCode;
  /** The channel that it concerns; absent when it concerns the daemon. */
  readonly channel?: Channel | undefined;
  readonly message: string;
  /** Since when it lasts, Unix seconds; `null` when that is not known. */
  readonly since: number | null;
  /** When the daemon tries again automatically, Unix seconds; `null` when it does not, or when that is not known. */
  readonly next_try: number | null;
}

/** Maximum number of conditions that are sent. */
export const DAEMON_CONDITIONS_MAX = 8;
/** Maximum length of the message of a condition, characters. */
export const CONDITION_MESSAGE_MAX = 200;
