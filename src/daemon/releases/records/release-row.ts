import type { Channel } from '../../../domain/release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../../../domain/release/digest.ts';
import type { ReleaseFailure } from '../../../domain/verdict/attestation.ts';
import type { RELEASE_STATES } from '../../../contract/schemas/vocabulary.ts';
import type { ReleaseId } from '../../../domain/release/release-id.ts';

/** The state of a release. `damaged` is a side state of those that have bytes; a repair leaves it. */
export type ReleaseState = (typeof RELEASE_STATES)[number];

/** Damage of a release that is not about its entries: the manifest is missing, or it or the release record is wrong. */
export type DamageReason = Extract<ReleaseFailure['reason'], 'SnapshotMissing' | 'ManifestDamaged'>;

/** What is wrong with the manifest or the record of a release. */
export interface ReleaseProblem {
  readonly reason: DamageReason;
  readonly message: string;
}

/** A release as the database has it. Times are Unix seconds. */
export interface ReleaseRow {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  /** What upstream called it; differs from `release_id` when upstream reused a name for other content. */
  readonly upstream_release_id: ReleaseId;
  readonly state: ReleaseState;
  readonly base_release_id: ReleaseId | null;
  /** The catalog revision that holds its entries; `null` once deleted. */
  readonly revision_id: number | null;
  /** BLAKE3 over destinations, bytes and what else the manifest says, apart from the name of the release. */
  readonly content_digest: Blake3Hex | null;
  readonly snapshot_id: SnapshotId | null;
  readonly manifest_sha256: string | null;
  readonly entry_count: number;
  readonly total_bytes: number;
  readonly app_version: string | null;
  readonly server_info_blake3: Blake3Hex | null;
  readonly server_info_size: number | null;
  readonly created_at: number;
  /** When it last became current. */
  readonly published_at: number | null;
  /** When another release of the channel took its place. */
  readonly superseded_at: number | null;
  /** When its whole content was last found sound: the oldest full hash among its objects. */
  readonly verified_at: number | null;
  /** When it was last checked, whatever was found. */
  readonly checked_at: number | null;
  readonly damaged_at: number | null;
  /** Which part is damaged, where that is not about single entries (manifest, release record). */
  readonly damage_reason: DamageReason | null;
  /** Present exactly with `damage_reason`. */
  readonly damage_message: string | null;
  /** Only localized: since when its base is no longer the current official release. */
  readonly stale_since: number | null;
  readonly deleted_at: number | null;
  readonly pinned: boolean;
}

/** States in which a release has a manifest and objects in the store. */
export const KEPT_STATES: readonly ReleaseState[] = ['verified', 'current', 'superseded', 'damaged'];

/** Whether a release has a manifest and objects in the store. */
export function isKept(release: ReleaseRow): boolean {
  return KEPT_STATES.includes(release.state) && release.snapshot_id !== null;
}

/** A release as a statement returns it. */
export type StoredRelease = Omit<ReleaseRow, 'pinned'> & { readonly pinned: number };

/** The release in a row of the table. */
export function releaseOf(row: StoredRelease): ReleaseRow {
  return { ...row, pinned: row.pinned === 1 };
}
