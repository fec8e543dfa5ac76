import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { FileIdentity } from '../../snapshot/objects/object-reader.ts';

const DIGEST_BYTES = 32;
const IDENTITY_WORDS = 5;
/** Blocks whose marks fit into one number; most objects have no more. */
const BITS_OF_A_NUMBER = 32;
/** Rows that an object may take: the digest names the set, and the one used longest ago in it makes room. */
const WAYS = 8;
const MAX_TICK = 2 ** 32 - 1;

/** Which blocks of one file in one state were found to match the manifest. */
export interface VerifiedBlocks {
  readonly identity: FileIdentity;
  has(block: number): boolean;
  add(block: number): void;
}

/**
 * Remembers which blocks of which files were verified, also while the files are closed, for the objects used last.
 * What is remembered holds for exactly one state of one file.
 *
 * A table of plain numbers: 84 bytes an object, where an object of JavaScript with its key would take 300.
 */
export class VerifiedMemory {
  readonly #ways: number;
  readonly #sets: number;
  readonly #digests: Buffer;
  readonly #identities: BigUint64Array;
  /** The marks of the first blocks of an object. */
  readonly #marks: Uint32Array;
  /** The marks of objects with more blocks, by row. */
  readonly #manyMarks = new Map<number, Uint8Array>();
  /** Grows when a row is given to another object or state, so that who holds the former one sees nothing any more. */
  readonly #generations: Uint32Array;
  /** When a row was used last, counted in uses; 0 for an empty row. */
  readonly #usedAt: Uint32Array;
  #tick = 0;

  /** @param limit most objects remembered */
  constructor(limit: number) {
    this.#ways = Math.min(WAYS, Math.max(1, limit));
    this.#sets = Math.max(1, Math.floor(limit / this.#ways));
    const rows = this.#sets * this.#ways;
    this.#digests = Buffer.alloc(rows * DIGEST_BYTES);
    this.#identities = new BigUint64Array(rows * IDENTITY_WORDS);
    this.#marks = new Uint32Array(rows);
    this.#generations = new Uint32Array(rows);
    this.#usedAt = new Uint32Array(rows);
  }

  /**
   * @param identity the state of the file now
   * @param blocks how many blocks the object has
   * @returns what is known of the object in that state; nothing when it was another file or has changed since
   */
  recall(blake3: Blake3Hex, identity: FileIdentity, blocks: number): VerifiedBlocks {
    const digest = Buffer.from(blake3, 'hex');
    let row = this.#find(digest);
    if (row === -1) {
      row = this.#oldestOf(digest);
      digest.copy(this.#digests, row * DIGEST_BYTES);
      this.#begin(row, identity, blocks);
    } else if (!this.#isOf(row, identity)) {
      this.#begin(row, identity, blocks);
    }
    this.#usedAt[row] = this.#nextTick();
    return this.#handle(row, identity);
  }

  /** Forgets an object that was found damaged, also for a reader that is in the middle of it: it verifies anew. */
  forget(blake3: Blake3Hex): void {
    const row = this.#find(Buffer.from(blake3, 'hex'));
    if (row === -1) return;
    this.#clear(row);
    this.#usedAt[row] = 0;
  }

  #handle(row: number, identity: FileIdentity): VerifiedBlocks {
    const generation = this.#generations[row];
    const isCurrent = (): boolean => this.#generations[row] === generation;
    return {
      identity,
      has: (block) => isCurrent() && this.#has(row, block),
      add: (block) => {
        if (isCurrent()) this.#add(row, block);
      },
    };
  }

  #has(row: number, block: number): boolean {
    const many = this.#manyMarks.get(row);
    if (many === undefined) return (((this.#marks[row] ?? 0) >>> block) & 1) === 1;
    return (((many[block >> 3] ?? 0) >> (block & 7)) & 1) === 1;
  }

  #add(row: number, block: number): void {
    const many = this.#manyMarks.get(row);
    if (many === undefined) this.#marks[row] = (this.#marks[row] ?? 0) | (1 << block);
    else many[block >> 3] = (many[block >> 3] ?? 0) | (1 << (block & 7));
  }

  #begin(row: number, identity: FileIdentity, blocks: number): void {
    this.#clear(row);
    if (blocks > BITS_OF_A_NUMBER) this.#manyMarks.set(row, new Uint8Array(Math.ceil(blocks / 8)));
    const at = row * IDENTITY_WORDS;
    wordsOf(identity).forEach((word, order) => {
      this.#identities[at + order] = word;
    });
  }

  #clear(row: number): void {
    this.#generations[row] = (this.#generations[row] ?? 0) + 1;
    this.#marks[row] = 0;
    this.#manyMarks.delete(row);
  }

  #isOf(row: number, identity: FileIdentity): boolean {
    const at = row * IDENTITY_WORDS;
    return wordsOf(identity).every((word, order) => this.#identities[at + order] === word);
  }

  #find(digest: Buffer): number {
    const first = this.#firstRowOf(digest);
    for (let row = first; row < first + this.#ways; row += 1) {
      const at = row * DIGEST_BYTES;
      if (this.#usedAt[row] !== 0 && digest.compare(this.#digests, at, at + DIGEST_BYTES) === 0) return row;
    }
    return -1;
  }

  #oldestOf(digest: Buffer): number {
    const first = this.#firstRowOf(digest);
    let oldest = first;
    for (let row = first; row < first + this.#ways; row += 1) {
      if ((this.#usedAt[row] ?? 0) < (this.#usedAt[oldest] ?? 0)) oldest = row;
    }
    return oldest;
  }

  /** A digest is random already: its beginning is the hash. */
  #firstRowOf(digest: Buffer): number {
    return (digest.readUInt32LE(0) % this.#sets) * this.#ways;
  }

  #nextTick(): number {
    if (this.#tick === MAX_TICK) {
      this.#usedAt.fill(1);
      this.#tick = 1;
    }
    this.#tick += 1;
    return this.#tick;
  }
}

/** An identity as unsigned words; times before 1970 wrap around, which tells them apart all the same. */
function wordsOf({ dev, ino, size, mtimeNs, ctimeNs }: FileIdentity): readonly bigint[] {
  return [dev, ino, size, BigInt.asUintN(64, mtimeNs), BigInt.asUintN(64, ctimeNs)];
}
