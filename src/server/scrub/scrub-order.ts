import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { SERVER_INFO_NAME } from '../../domain/release/server-info-document.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';
import type { ServedRelease } from '../serving/serving.ts';

/** One object to check. */
export interface ScrubObject {
  readonly blake3: Blake3Hex;
  readonly size: number;
  /** BLAKE3 of its block list; present only for large entries. */
  readonly blocks?: Blake3Hex;
  /** One destination that has these bytes; computed on request. */
  destination(): string;
  readonly index: ManifestIndex;
}

/** A release whose objects are checked. */
export interface ScrubRelease {
  readonly index: ServedRelease['index'];
  readonly document: ServedRelease['document'];
}

/** Number of steps of a pass: one for each first byte of a digest. */
export const SCRUB_STEPS = 256;

/** Number of entries to scan before the event loop gets a turn. */
const SCAN_ENTRIES = 131_072;

/**
 * Lists the distinct objects of some releases whose digest begins with a byte, in the order of their digests. That
 * order does not depend on the served releases: a position stays valid when releases come and go, and objects that
 * releases share are listed once. Neither needs memory for each object.
 *
 * @param step the first byte, 0 to 255
 * @param after objects up to this digest are left out; empty leaves out none
 */
export async function objectsOfStep(
  releases: Iterable<ScrubRelease>,
  step: number,
  after: string,
): Promise<readonly ScrubObject[]> {
  const found = new Map<Blake3Hex, ScrubObject>();
  const add = (object: ScrubObject): void => {
    if (object.blake3 > after && !found.has(object.blake3)) found.set(object.blake3, object);
  };
  for (const { index, document } of releases) {
    for (let from = 0; from < index.length; from += SCAN_ENTRIES) {
      for (const position of index.findDigestsOf(step, from, from + SCAN_ENTRIES)) {
        const blocks = index.blocks(position);
        add({
          blake3: index.blake3(position),
          size: index.size(position),
          ...(blocks === null ? {} : { blocks }),
          destination: () => index.destination(position),
          index,
        });
      }
      await nextTurn();
    }
    if (document !== null && Number.parseInt(document.blake3.slice(0, 2), 16) === step) {
      add({ ...document, destination: () => SERVER_INFO_NAME, index });
    }
  }
  return [...found.values()].sort((left, right) => (left.blake3 < right.blake3 ? -1 : 1));
}
