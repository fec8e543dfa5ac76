import type { EntryTrouble } from '../../domain/verdict/verdict.ts';
import { NO_TROUBLE } from '../../domain/verdict/verdict.ts';
import { SERVER_INFO_NAME } from '../../snapshot/objects/object-check.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import type { DamageBook } from './damage-book.ts';
import type { DigestFinder } from './digest-finder.ts';
import { TROUBLE_EXAMPLES, type BoundSnapshot } from './snapshot-binder.ts';

/** What is wrong with the entries of one snapshot, from the volume and from the damage book. */
export interface SnapshotTrouble {
  readonly missing: EntryTrouble;
  readonly damaged: EntryTrouble;
}

/** What is written down as damaged, and the means to find it. */
export interface KnownDamage {
  readonly book: Pick<DamageBook, 'records' | 'digests'>;
  readonly finder: DigestFinder;
}

/** Whether a snapshot holds these bytes, as an entry or as its server-info document. */
export function holdsDigest(
  index: ManifestIndex,
  blake3: Parameters<DigestFinder['positions']>[1],
  { book, finder }: KnownDamage,
): boolean {
  return (
    index.header.server_info?.blake3 === blake3 || finder.positions(index, blake3, book.digests()).length > 0
  );
}

/** Counts the troubled entries of a snapshot. The cost grows with the trouble, not with the snapshot. */
export function snapshotTrouble(snapshot: BoundSnapshot, { book, finder }: KnownDamage): SnapshotTrouble {
  const { index } = snapshot;
  if (index === null) return { missing: NO_TROUBLE, damaged: NO_TROUBLE };
  let missing = snapshot.missingTrouble;
  let damaged = NO_TROUBLE;
  for (const { blake3, kind } of book.records()) {
    const positions = finder
      .positions(index, blake3, book.digests())
      .filter((position) => !includesSorted(snapshot.missing, position));
    const isDocument = index.header.server_info?.blake3 === blake3;
    const trouble: EntryTrouble = {
      count: positions.length + (isDocument ? 1 : 0),
      examples: [
        ...positions.slice(0, TROUBLE_EXAMPLES).map((position): string => index.destination(position)),
        ...(isDocument ? [SERVER_INFO_NAME] : []),
      ],
    };
    if (kind === 'missing') missing = add(missing, trouble);
    else damaged = add(damaged, trouble);
  }
  return { missing, damaged };
}

function add(left: EntryTrouble, right: EntryTrouble): EntryTrouble {
  if (right.count === 0) return left;
  return {
    count: left.count + right.count,
    examples: [...left.examples, ...right.examples].slice(0, TROUBLE_EXAMPLES),
  };
}

/** Whether an ascending list has this number. */
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
