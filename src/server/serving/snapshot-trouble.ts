import type { LoadOutcome } from './load-snapshot.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import {
  NO_TROUBLE,
  TROUBLE_EXAMPLES,
  type EntryTrouble,
  type SnapshotEvidence,
} from '../../domain/verdict/evidence.ts';
import type { DigestFinder } from './digest-finder.ts';

type ReadSnapshot = LoadOutcome & { readonly ok: true };

/** Renders the result of reading a snapshot as evidence. */
export function snapshotEvidence(outcome: LoadOutcome): SnapshotEvidence {
  if (!outcome.ok) return { manifest: outcome.manifest, message: outcome.message };
  const { index, missing } = outcome;
  const { channel, release_id } = index.header;
  return {
    manifest: 'ok',
    channel,
    release_id,
    entryCount: index.length,
    missing: {
      count: missing.length,
      examples: firstOf(missing).map((position): string => index.destination(position)),
    },
  };
}

/** The first few positions of a list. */
export function firstOf(positions: ArrayLike<number>): readonly number[] {
  return Array.from({ length: Math.min(positions.length, TROUBLE_EXAMPLES) }, (_, at) =>
    Number(positions[at]),
  );
}

/**
 * The entries of a snapshot that hold these bytes and were not missing when it was read.
 *
 * @param others digests that the caller needs next
 * @returns `null` when the snapshot does not hold these bytes
 */
export function entriesHolding(
  { index, missing }: ReadSnapshot,
  blake3: Blake3Hex,
  finder: DigestFinder,
  others?: Iterable<Blake3Hex>,
): EntryTrouble | null {
  const held = finder.positions(index, blake3, others);
  if (held.length === 0) return null;
  const positions = held.filter((position) => !includesSorted(missing, position));
  if (positions.length === 0) return NO_TROUBLE;
  return {
    count: positions.length,
    examples: firstOf(positions).map((position): string => index.destination(position)),
  };
}

/** The entry of a snapshot that has these bytes, or `null`. */
export function entryHolding(
  { index }: ReadSnapshot,
  blake3: Blake3Hex,
  finder: DigestFinder,
): ManifestEntry | null {
  const position = finder.positions(index, blake3)[0];
  return position === undefined ? null : index.entry(position);
}

function includesSorted(sorted: ArrayLike<number>, wanted: number): boolean {
  let low = 0;
  let high = sorted.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const value = sorted[middle] ?? 0;
    if (value === wanted) return true;
    if (value < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}
