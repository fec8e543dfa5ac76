import { setImmediate as nextTurn } from 'node:timers/promises';
import { hasBlockList } from '../../domain/release/blocks.ts';
import { DIFFERENCE_MAX_CHANGES, type ManifestChange } from '../../domain/release/manifest.ts';
import { DestinationCursor } from './destination-list.ts';
import type { ManifestIndex } from './manifest-index.ts';

/**
 * Where two manifests differ, in the byte order of the destinations: positions in the newer one, and {@link REMOVED} plus a position in
 * the older one. It does not hold the manifests.
 */
export type ManifestDifference = Uint32Array;

/** Entries compared before the event loop gets a turn: about a millisecond. */
const TURN_ENTRIES = 4096;
const DIGEST_BYTES = 32;
/** Set in a change whose position is in the older manifest. */
const REMOVED = 0x8000_0000;

/**
 * Compares two manifests.
 *
 * @returns `null` where a difference is no better than the whole manifest: it has as many changes as the manifest has entries, or more
 *   than {@link DIFFERENCE_MAX_CHANGES}
 * @throws the signal's reason
 */
export async function compareManifests(
  from: ManifestIndex,
  to: ManifestIndex,
  signal: AbortSignal,
): Promise<ManifestDifference | null> {
  const most = Math.min(DIFFERENCE_MAX_CHANGES, to.length - 1);
  const found: number[] = [];
  const isEqual = createEntryComparison(from, to);
  const [older, newer] = [new Walk(from), new Walk(to)];
  for (let turn = 1; older.isInside || newer.isInside; turn += 1) {
    const order = older.compare(newer);
    if (order < 0) found.push(REMOVED + older.position);
    else if (order > 0 || !isEqual(older.position, newer.position)) found.push(newer.position);
    if (found.length > most) return null;
    if (order <= 0) older.next();
    if (order >= 0) newer.next();
    if (turn % TURN_ENTRIES !== 0) continue;
    await nextTurn();
    signal.throwIfAborted();
  }
  return Uint32Array.from(found);
}

/**
 * The changes of a difference.
 *
 * @param range at most `limit` changes from `offset` on; none past the end
 */
export function changesOf(
  difference: ManifestDifference,
  { from, to }: { readonly from: ManifestIndex; readonly to: ManifestIndex },
  { offset, limit }: { readonly offset: number; readonly limit: number },
): readonly ManifestChange[] {
  return Array.from(difference.subarray(offset, offset + limit), (position): ManifestChange => {
    if (position >= REMOVED) return { destination: from.destination(position - REMOVED), entry: null };
    const entry = to.entry(position);
    return { destination: entry.destination, entry };
  });
}

/** The destinations of a manifest, one after another. */
class Walk {
  position = 0;
  readonly #length: number;
  readonly #cursor: DestinationCursor;

  constructor({ columns, length }: ManifestIndex) {
    this.#length = length;
    this.#cursor = new DestinationCursor(columns.destinations);
    if (length > 0) this.#cursor.next();
  }

  get isInside(): boolean {
    return this.position < this.#length;
  }

  next(): void {
    this.position += 1;
    if (this.isInside) this.#cursor.next();
  }

  /** Negative when this destination comes first. One past the end comes last. */
  compare(other: Walk): number {
    if (!this.isInside) return 1;
    if (!other.isInside) return -1;
    const [mine, theirs] = [this.#cursor, other.#cursor];
    return mine.bytes.compare(theirs.bytes, 0, theirs.length, 0, mine.length);
  }
}

/** Whether two entries with one destination are equal. */
function createEntryComparison(
  from: ManifestIndex,
  to: ManifestIndex,
): (older: number, newer: number) => boolean {
  const [a, b] = [from.columns, to.columns];
  return (older, newer) => {
    for (let i = 0; i < DIGEST_BYTES; i += 1) {
      if (a.digests[older * DIGEST_BYTES + i] !== b.digests[newer * DIGEST_BYTES + i]) return false;
    }
    return (
      a.sizes[older] === b.sizes[newer] &&
      a.crc64[2 * older] === b.crc64[2 * newer] &&
      a.crc64[2 * older + 1] === b.crc64[2 * newer + 1] &&
      from.source(older) === to.source(newer) &&
      from.mediaType(older) === to.mediaType(newer) &&
      (!hasBlockList(to.size(newer)) || from.blocks(older) === to.blocks(newer))
    );
  };
}
