import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';

/**
 * Finds digests in manifests. It scans a manifest once for all digests of a call, and never twice for the same digest: a
 * volume that lost half of its files has thousands of damaged digests, and every verdict needs all of them.
 */
export class DigestFinder {
  readonly #known = new WeakMap<ManifestIndex, Map<Blake3Hex, readonly number[]>>();

  /**
   * Every position whose bytes have this digest, in ascending order.
   *
   * @param others digests that the caller needs next: the same scan looks for them
   */
  positions(index: ManifestIndex, blake3: Blake3Hex, others: Iterable<Blake3Hex> = []): readonly number[] {
    let found = this.#known.get(index);
    if (found === undefined) this.#known.set(index, (found = new Map()));
    const before = found.get(blake3);
    if (before !== undefined) return before;
    const wanted = new Set([blake3]);
    for (const other of others) if (!found.has(other)) wanted.add(other);
    for (const [digest, positions] of index.findDigests(wanted)) found.set(digest, positions);
    return found.get(blake3) ?? [];
  }
}
