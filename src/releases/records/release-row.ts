import type { Channel } from '../../domain/release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../../domain/release/digest.ts';
import type { ReleaseFailure } from '../../domain/verdict/attestation.ts';
import type { RELEASE_STATES } from '../../contract/schemas/vocabulary.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import type { ServerInfoDocument } from '../../domain/release/server-info-document.ts';

/** The state of a release. A release with objects can become `damaged`; a repair ends that state. */
export type ReleaseState = (typeof RELEASE_STATES)[number];

/**
 * Damage of a release apart from its entries: the manifest is missing, or the manifest or the release record is wrong.
 */
type DamageReason = Extract<ReleaseFailure['reason'], 'SnapshotMissing' | 'ManifestDamaged'>;

export interface ReleaseProblem {
  readonly reason: DamageReason;
  readonly message: string;
}

/** Names a release: an id can be in both channels. */
export interface ReleaseKey {
  readonly channel: Channel;
  readonly release_id: ReleaseId;
}

/** A release as stored in the database. Times are Unix seconds. */
export interface ReleaseRow extends ReleaseKey {
  /** Upstream's name of it; differs from `release_id` when upstream reused a name for other content. */
  readonly upstream_release_id: ReleaseId;
  readonly state: ReleaseState;
  readonly base_release_id: ReleaseId | null;
  /** The catalog revision that holds its entries; `null` after deletion. */
  readonly revision_id: number | null;
  /** BLAKE3 over destinations, bytes and all else in the manifest except the name of the release. */
  readonly content_digest: Blake3Hex | null;
  readonly snapshot_id: SnapshotId | null;
  readonly manifest_sha256: string | null;
  readonly entry_count: number;
  readonly total_bytes: number;
  readonly app_version: string | null;
  /** Files that upstream lists and this release leaves out on purpose. */
  readonly excluded_count: number;
  /** The server-info document; it can be replaced while the release stays as it is. */
  readonly server_info_blake3: Blake3Hex | null;
  readonly server_info_size: number | null;
  readonly created_at: number;
  /** When it last became current. */
  readonly published_at: number | null;
  /** When another release of the channel replaced it. */
  readonly superseded_at: number | null;
  /** When its whole content was last found sound: the oldest full hash among its objects. */
  readonly verified_at: number | null;
  /** When all its bytes were last hashed, whatever the result. */
  readonly checked_at: number | null;
  readonly damaged_at: number | null;
  /** The damaged part, when it is the manifest or the release record and not single entries. */
  readonly damage_reason: DamageReason | null;
  /** Set if and only if `damage_reason` is set. */
  readonly damage_message: string | null;
  /** Only for a localized release: since when its base is no longer the current official release. */
  readonly stale_since: number | null;
  readonly deleted_at: number | null;
  readonly pinned: boolean;
}

export function documentOfRow({
  server_info_blake3: blake3,
  server_info_size: size,
}: ReleaseRow): ServerInfoDocument | null {
  return blake3 === null || size === null ? null : { blake3, size };
}

export function documentColumns(document: ServerInfoDocument | null): {
  readonly server_info_blake3: ServerInfoDocument['blake3'] | null;
  readonly server_info_size: number | null;
} {
  return { server_info_blake3: document?.blake3 ?? null, server_info_size: document?.size ?? null };
}

const KEPT_STATES: ReadonlySet<ReleaseState> = new Set(['verified', 'current', 'superseded', 'damaged']);

export function isKept(release: ReleaseRow): boolean {
  return KEPT_STATES.has(release.state) && release.snapshot_id !== null;
}

export type StoredRelease = Omit<ReleaseRow, 'pinned'> & { readonly pinned: number };

export function releaseOf(row: StoredRelease): ReleaseRow {
  return { ...row, pinned: row.pinned === 1 };
}

/** The columns of a release without damage. */
export const UNDAMAGED = { damaged_at: null, damage_reason: null, damage_message: null } as const;

/** Whether the bytes of a release were intact when they were last read. */
export function integrityOf(release: ReleaseRow): 'ok' | 'damaged' | 'unverified' {
  if (release.state === 'damaged') return 'damaged';
  return release.verified_at === null ? 'unverified' : 'ok';
}
