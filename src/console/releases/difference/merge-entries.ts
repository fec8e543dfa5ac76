import { compareDestinations } from '../../../domain/release/destination.ts';
import type { ManifestEntry } from '../../api/wire.ts';
import type { EntryCursor } from './entry-cursor.ts';

/** An entry on both sides; `null` on the side that does not have it, never on both. */
export interface EntryPair {
  readonly left: ManifestEntry | null;
  readonly right: ManifestEntry | null;
}

/** Positions in both releases. */
export interface Place {
  readonly left: number;
  readonly right: number;
}

/** What to do after an entry. */
export type Step = 'next' | 'stop' | { readonly skipTo: Place };

/**
 * Walks over two releases together, in the order of their destinations.
 *
 * @param visit called with each destination of either side and its place, before the next one
 * @param onPage called after each page that arrived
 * @throws ApiFailure, ReleaseMoved
 */
export async function mergeEntries(
  left: EntryCursor,
  right: EntryCursor,
  visit: (pair: EntryPair, place: Place) => Step,
  onPage: () => void = () => undefined,
): Promise<void> {
  for (;;) {
    if (left.isWaiting || right.isWaiting) {
      await Promise.all([left, right].map(async (side) => (side.isWaiting ? side.load() : null)));
      onPage();
    }
    const pair = pairOf(left.entry, right.entry);
    if (pair.left === null && pair.right === null) return;
    const step = visit(pair, { left: left.position, right: right.position });
    if (step === 'stop') return;
    if (step === 'next') {
      if (pair.left !== null) left.move();
      if (pair.right !== null) right.move();
    } else {
      left.move(step.skipTo.left);
      right.move(step.skipTo.right);
    }
  }
}

function pairOf(left: ManifestEntry | null, right: ManifestEntry | null): EntryPair {
  if (left === null || right === null) return { left, right };
  const order = compareDestinations(left.destination, right.destination);
  return { left: order <= 0 ? left : null, right: order >= 0 ? right : null };
}

/** Whether both sides have the same bytes. */
export function isSame({ left, right }: EntryPair): boolean {
  return left !== null && right !== null && left.blake3 === right.blake3;
}

/** The destination of a pair. */
export function destinationOf({ left, right }: EntryPair): string {
  return (left ?? right)?.destination ?? '';
}
