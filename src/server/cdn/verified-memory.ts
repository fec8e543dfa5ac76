import type { Blake3Hex } from '../../domain/digest.ts';
import { sameIdentity, type FileIdentity } from '../../snapshot/object-reader.ts';

/** Which blocks of one file in one state were found to match the manifest. */
export interface VerifiedBlocks {
  readonly identity: FileIdentity;
  has(block: number): boolean;
  add(block: number): void;
}

/**
 * Remembers which blocks of which files were verified, also while the files are closed, for the objects used last.
 * What is remembered holds for exactly one state of one file.
 */
export class VerifiedMemory {
  readonly #objects = new Map<Blake3Hex, VerifiedBlocks>();
  readonly #limit: number;

  /** @param limit most objects remembered */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * @param identity the state of the file now
   * @param blocks how many blocks the object has
   * @returns what is known of the object in that state; nothing when it was another file or has changed since
   */
  recall(blake3: Blake3Hex, identity: FileIdentity, blocks: number): VerifiedBlocks {
    const known = this.#objects.get(blake3);
    const found =
      known !== undefined && sameIdentity(known.identity, identity) ? known : bitmap(identity, blocks);
    this.#objects.delete(blake3);
    this.#objects.set(blake3, found);
    if (this.#objects.size > this.#limit) {
      const [oldest] = this.#objects.keys();
      if (oldest !== undefined) this.#objects.delete(oldest);
    }
    return found;
  }

  /** Forgets an object that was found damaged. */
  forget(blake3: Blake3Hex): void {
    this.#objects.delete(blake3);
  }
}

function bitmap(identity: FileIdentity, blocks: number): VerifiedBlocks {
  const bits = new Uint8Array(Math.ceil(blocks / 8));
  return {
    identity,
    has: (block) => ((bits[block >> 3] ?? 0) & (1 << (block & 7))) !== 0,
    add: (block) => {
      bits[block >> 3] = (bits[block >> 3] ?? 0) | (1 << (block & 7));
    },
  };
}
