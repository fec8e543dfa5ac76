import type { SnapshotId } from '../../src/domain/release/digest.ts';
import type { ManifestEntry, ManifestHeader } from '../../src/domain/release/manifest.ts';
import { HASH_SEEDS } from '../../src/snapshot/manifest/destination-hash.ts';
import { ManifestColumnsBuilder } from '../../src/snapshot/manifest/manifest-columns.ts';
import { createManifestIndex, type ManifestIndex } from '../../src/snapshot/manifest/manifest-index.ts';

/**
 * Builds an index from entries in memory, in the byte order of their destinations.
 *
 * @throws Error when the entries are out of order, repeated, or not as many as the header states
 */
export function indexEntries(
  header: ManifestHeader,
  snapshotId: SnapshotId,
  entries: Iterable<ManifestEntry>,
): ManifestIndex {
  const builder = new ManifestColumnsBuilder(header);
  for (const entry of entries) {
    const problem = builder.append(entry);
    if (problem !== null) throw new Error(`${JSON.stringify(entry.destination)}: ${problem}`);
  }
  return createManifestIndex(builder.finish(snapshotId, HASH_SEEDS - 1));
}
