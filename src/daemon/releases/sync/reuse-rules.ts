import type { CatalogEntryRow } from '../records/entry-row.ts';

/** The evidence that an entry needs no fetch. */
export type Reuse = 'stated_blake3' | 'same_sha256' | 'same_md5' | 'same_crc32' | null;

type Stated = Pick<
  CatalogEntryRow,
  'destination' | 'stated_size' | 'stated_blake3' | 'stated_sha256' | 'stated_md5' | 'stated_crc32'
>;

/**
 * Decides whether an entry has the same bytes as an earlier entry of the same destination, from the facts that upstream
 * states about both. SHA-256 alone is enough. MD5 and CRC-32 count only together with the size, for the same
 * destination, and not when the operator asked to fetch again (`force`). Without a stated digest the entry is fetched.
 *
 * @returns the evidence, or `null` when the entry has to be fetched
 */
export function reuseOf(entry: Stated, earlier: Stated, force: boolean): Reuse {
  if (entry.stated_blake3 !== null)
    return entry.stated_blake3 === earlier.stated_blake3 ? 'stated_blake3' : null;
  if (earlier.destination !== entry.destination) return null;
  if (entry.stated_size !== earlier.stated_size) return null;
  if (entry.stated_sha256 !== null)
    return entry.stated_sha256 === earlier.stated_sha256 ? 'same_sha256' : null;
  if (force || entry.stated_size === null) return null;
  if (entry.stated_md5 !== null) return entry.stated_md5 === earlier.stated_md5 ? 'same_md5' : null;
  if (entry.stated_crc32 !== null) return entry.stated_crc32 === earlier.stated_crc32 ? 'same_crc32' : null;
  return null;
}
