import type { Channel } from './channel.ts';
import type { Blake3Hex, Crc64Decimal } from './digest.ts';
import type { Destination } from './destination.ts';
import type { ReleaseId } from './release-id.ts';

export type EntrySource = Channel;

/** One entry of a resource manifest, as served and as stored (one NDJSON line, keys in this order). */
export interface ManifestEntry {
  readonly destination: Destination;
  readonly size: number;
  readonly blake3: Blake3Hex;
  readonly crc64: Crc64Decimal;
  readonly source: EntrySource;
  readonly media_type: string;
  /** BLAKE3 of the block list file; present exactly when `size` exceeds one block. */
  readonly blocks?: Blake3Hex;
}

export interface ManifestHeader {
  readonly format: 'slipway-manifest';
  readonly version: 1;
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  /** Only for `localized`: the official release it was made from. */
  readonly base_release_id?: ReleaseId;
  readonly entry_count: number;
  readonly total_bytes: number;
  /** The version clients show, if upstream names one. */
  readonly app_version?: string;
}

/** What differs between two manifests at one destination. */
export interface ManifestChange {
  readonly destination: Destination;
  /** The entry of the newer one; `null` where it has none. */
  readonly entry: ManifestEntry | null;
}

/**
 * Maximum number of changes in a difference of two manifests. An edge holds all of them in memory; reading a whole manifest costs
 * little beside the files of so many changes.
 */
export const DIFFERENCE_MAX_CHANGES = 65_536;

/** Maximum number of entries of one release. */
export const MANIFEST_MAX_ENTRIES = 2_000_000;

/** Longest line of a manifest file, in bytes. */
export const MANIFEST_MAX_LINE_BYTES = 16 * 1024;
