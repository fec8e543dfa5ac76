import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';

/** Knows where digests are in manifests. */
export interface DigestFinder {
  /**
   * Every position whose bytes have this digest, ascending.
   *
   * @param others digests that will be asked for next: they are looked for in the same scan
   */
  positions(index: ManifestIndex, blake3: Blake3Hex, others?: Iterable<Blake3Hex>): readonly number[];
}

/**
 * Makes a finder that scans a manifest once for all the digests it is asked for together, and never twice for one: a
 * volume that lost half of its files has thousands of damaged digests, and every verdict asks for all of them.
 */
export function createDigestFinder(): DigestFinder {
  const known = new WeakMap<ManifestIndex, Map<Blake3Hex, readonly number[]>>();
  return {
    positions: (index, blake3, others = []) => {
      let found = known.get(index);
      if (found === undefined) known.set(index, (found = new Map()));
      const before = found.get(blake3);
      if (before !== undefined) return before;
      const wanted = new Set([blake3]);
      for (const other of others) if (!found.has(other)) wanted.add(other);
      for (const [digest, positions] of index.findDigests(wanted)) found.set(digest, positions);
      return found.get(blake3) ?? [];
    },
  };
}
