import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { FileIdentity } from '../../snapshot/objects/object-reader.ts';

const DIGEST_BYTES = 32;
const IDENTITY_WORDS = 5;
/** Number of blocks whose marks fit into one number; few objects have more. */
const BITS_OF_A_NUMBER = 32;
/** Number of rows in a set. The digest selects the set; its least recently used row is replaced. */
const WAYS = 8;
const MAX_TICK = 2 ** 32 - 1;

/** The blocks of one file, in one state, that were found to match the manifest. */
export interface VerifiedBlocks {
  readonly identity: FileIdentity;
  has(block: number): boolean;
  add(block: number): void;
}

/**
 * Remembers which blocks of which files were verified, also while the files are closed, for the most recently used
 * objects. A record holds for exactly one state of one file.
 *
 * It is a table of plain numbers: 84 bytes per object, where a JavaScript object with its key would take 300.
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
  /** Increases when a row gets another object or state, so that holders of the former one no longer see its marks. */
  readonly #generations: Uint32Array;
  /** Last use of a row, as a count of uses; 0 for an empty row. */
  readonly #usedAt: Uint32Array;
  #tick = 0;

  /** @param limit maximum number of objects remembered */
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
   * @param blocks number of blocks of the object
   * @returns the blocks verified in that state; none if it was another file or has changed since
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

  /** Forgets a damaged object, also for a reader that is in the middle of it, which verifies its blocks again. */
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

  /** A digest is already random, so its beginning serves as the hash. */
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

/** An identity as unsigned words. Times before 1970 wrap around, but remain distinct. */
function wordsOf({ dev, ino, size, mtimeNs, ctimeNs }: FileIdentity): readonly bigint[] {
  return [dev, ino, size, BigInt.asUintN(64, mtimeNs), BigInt.asUintN(64, ctimeNs)];
}
