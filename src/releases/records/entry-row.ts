import type { Blake3Hex, Crc64Decimal } from '../../domain/release/digest.ts';
import type { Destination } from '../../domain/release/destination.ts';
import { mediaTypeOf } from '../../domain/http/media-type.ts';
import type { EntrySource, ManifestEntry } from '../../domain/release/manifest.ts';
import type { UpstreamEntry } from '../../upstream/upstream.ts';

interface EntryIdentity {
  readonly destination: Destination;
  readonly source: EntrySource;
  /** `null` means the type given by the file extension. */
  readonly media_type: string | null;
}

/** One entry of a catalog revision: the facts that upstream states and, once known, the object with its bytes. */
export interface CatalogEntryRow extends EntryIdentity {
  readonly stated_size: number | null;
  readonly stated_blake3: string | null;
  readonly stated_sha256: string | null;
  readonly stated_md5: string | null;
  readonly stated_crc32: string | null;
  readonly locator: string;
  readonly blake3: Blake3Hex | null;
}

/**
 * The row of an entry of a manifest, whose facts are known.
 *
 * @param place where its bytes are upstream, and the object in the store or `null`
 */
export function entryRowOf(
  entry: ManifestEntry,
  place: { readonly locator: string; readonly blake3: Blake3Hex | null },
): CatalogEntryRow {
  return {
    destination: entry.destination,
    source: entry.source,
    // Also the usual one: the manifest must stay the same when a later version knows other types.
    media_type: entry.media_type,
    stated_size: entry.size,
    stated_blake3: entry.blake3,
    stated_sha256: null,
    stated_md5: null,
    stated_crc32: null,
    ...place,
  };
}

export interface KnownObject {
  readonly blake3: Blake3Hex;
  readonly size: number;
  readonly crc64: Crc64Decimal;
  /** BLAKE3 of the block list; `null` for an object of one block. */
  readonly blocks: Blake3Hex | null;
}

/** Converts a stored row back to the entry that the upstream adapter and the downloader use. */
export function upstreamEntryOf(row: CatalogEntryRow): UpstreamEntry {
  return {
    destination: row.destination,
    size: row.stated_size,
    digests: {
      ...(row.stated_blake3 === null ? {} : { blake3: row.stated_blake3 }),
      ...(row.stated_sha256 === null ? {} : { sha256: row.stated_sha256 }),
      ...(row.stated_md5 === null ? {} : { md5: row.stated_md5 }),
      ...(row.stated_crc32 === null ? {} : { crc32: row.stated_crc32 }),
    },
    locator: row.locator,
  };
}

export type KnownEntryRow = EntryIdentity &
  (
    | (KnownObject & {
        /** Unix seconds of the last hash over all bytes of the object. */
        readonly verified_at: number;
      })
    | { readonly blake3: null }
  );

/** The manifest entry of a row whose object is known. */
export function manifestEntryOf(row: EntryIdentity & KnownObject): ManifestEntry {
  return {
    destination: row.destination,
    size: row.size,
    blake3: row.blake3,
    crc64: row.crc64,
    source: row.source,
    media_type: row.media_type ?? mediaTypeOf(row.destination),
    ...(row.blocks === null ? {} : { blocks: row.blocks }),
  };
}
