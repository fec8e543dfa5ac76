import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { EntryTrouble } from '../../domain/verdict/evidence.ts';
import { objectState, objectStateSync } from '../objects/object-state.ts';
import type { ManifestIndex } from './manifest-index.ts';

/** Entries whose object is not there as the manifest says, and where they are in the index (ascending). */
export interface MissingObjects extends EntryTrouble {
  /** Positions in the index. The server-info document of the release has none, but counts. */
  readonly indexes: Uint32Array<ArrayBuffer>;
}

const TROUBLE_EXAMPLES = 5;

/** Maximum number of entries that one {@link recheckObjects} checks; the rest stay unchanged. */
const RECHECK_MAX = 4096;

/**
 * Looks at every distinct object of a manifest, synchronously: for a worker thread. An object is there when it is a
 * regular file of the stated size and, if large, has a block list of the right size.
 */
export function checkObjects(root: string, index: ManifestIndex): MissingObjects {
  const bad: number[] = [];
  const seen = new DigestSet(index.length);
  const isMissing = new Uint8Array(Math.ceil(index.length / 8));
  for (let position = 0; position < index.length; position += 1) {
    const blake3 = index.blake3(position);
    const first = seen.firstWith(blake3, position, index);
    const missing =
      first === position
        ? objectStateSync(root, blake3, index.size(position)) !== 'ok'
        : // The same bytes with another size cannot be: the digest would be wrong, and so it is for one of them.
          isSet(isMissing, first) || index.size(first) !== index.size(position);
    if (missing) {
      isMissing[position >> 3] = (isMissing[position >> 3] ?? 0) | (1 << (position & 7));
      bad.push(position);
    }
  }
  return troubleOf(index, bad);
}

/**
 * Looks again at entries that were missing, to notice a repair.
 *
 * @param indexes positions in the index; beyond {@link RECHECK_MAX} of them they are taken to be missing still
 * @returns those that are still missing
 */
export async function recheckObjects(
  root: string,
  index: ManifestIndex,
  indexes: Uint32Array,
): Promise<MissingObjects> {
  const bad: number[] = [];
  for (const [order, position] of indexes.entries()) {
    const state =
      order >= RECHECK_MAX
        ? 'missing'
        : await objectState(root, index.blake3(position), index.size(position));
    if (state !== 'ok') bad.push(position);
  }
  return troubleOf(index, bad);
}

function troubleOf(index: ManifestIndex, bad: readonly number[]): MissingObjects {
  const examples = bad.slice(0, TROUBLE_EXAMPLES).map((position): string => index.destination(position));
  return { count: bad.length, examples, indexes: Uint32Array.from(bad) };
}

function isSet(bits: Uint8Array, position: number): boolean {
  return (((bits[position >> 3] ?? 0) >> (position & 7)) & 1) === 1;
}

class DigestSet {
  readonly #slots: Uint32Array;

  constructor(length: number) {
    let slots = 8;
    while (slots < length * 2) slots *= 2;
    this.#slots = new Uint32Array(slots);
  }

  firstWith(blake3: Blake3Hex, position: number, index: ManifestIndex): number {
    const mask = this.#slots.length - 1;
    // A digest is random already: its beginning is the hash.
    for (let slot = Number.parseInt(blake3.slice(0, 8), 16) & mask; ; slot = (slot + 1) & mask) {
      const first = (this.#slots[slot] ?? 0) - 1;
      if (first < 0) {
        this.#slots[slot] = position + 1;
        return position;
      }
      if (index.blake3(first) === blake3) return first;
    }
  }
}
