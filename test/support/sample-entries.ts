import { createHash } from 'node:crypto';
import { hasBlockList } from '../../src/domain/release/blocks.ts';
import {
  snapshotIdOf,
  type Blake3Hex,
  type Crc64Decimal,
  type SnapshotId,
} from '../../src/domain/release/digest.ts';
import { compareDestinations, type Destination } from '../../src/domain/release/destination.ts';
import type { ManifestEntry, ManifestHeader } from '../../src/domain/release/manifest.ts';
import type { ReleaseId } from '../../src/domain/release/release-id.ts';

/** A digest that depends on the text alone, without matching bytes. */
export function sampleDigest(text: string): Blake3Hex {
  return createHash('sha256').update(text).digest('hex') as Blake3Hex;
}

/** A snapshot id without a matching manifest. */
export const SAMPLE_SNAPSHOT: SnapshotId = snapshotIdOf(sampleDigest('manifest'));

/** A valid entry without matching bytes. */
export function sampleEntry(destination: string, over: Partial<ManifestEntry> = {}): ManifestEntry {
  const blake3 = sampleDigest(destination);
  const size = over.size ?? Number.parseInt(blake3.slice(0, 6), 16);
  return {
    destination: destination as Destination,
    size,
    blake3,
    crc64: String(BigInt(`0x${blake3.slice(0, 16)}`)) as Crc64Decimal,
    source: 'official',
    media_type: 'application/octet-stream',
    ...(hasBlockList(size) ? { blocks: sampleDigest(`blocks of ${destination}`) } : {}),
    ...over,
  };
}

/** Sorts entries in manifest order. */
export function sortEntries(entries: readonly ManifestEntry[]): ManifestEntry[] {
  return [...entries].sort((left, right) => compareDestinations(left.destination, right.destination));
}

/** A header for these entries. */
export function sampleHeader(
  entries: readonly ManifestEntry[],
  over: Partial<ManifestHeader> = {},
): ManifestHeader {
  return {
    format: 'slipway-manifest',
    version: 1,
    channel: 'official',
    release_id: 'r1' as ReleaseId,
    entry_count: entries.length,
    total_bytes: entries.reduce((sum, { size }) => sum + size, 0),
    ...over,
  };
}
