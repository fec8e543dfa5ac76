import { readSync } from 'node:fs';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { createBlake3, type Blake3 } from '../../platform/hashing/blake3.ts';
import type { ObjectLedger } from '../../snapshot/objects/object-ledger.ts';
import { ObjectFault } from '../../snapshot/objects/object-fault.ts';
import { openObject, type OpenObject } from '../../snapshot/objects/object-reader.ts';

const READ_BYTES = 1024 * 1024;

interface ObjectInProgress {
  readonly file: OpenObject;
  readonly blake3: Blake3Hex;
  read: number;
}

/**
 * Reads the objects of a list one after the other as one sequence of bytes, and compares each with its digest. Reads are
 * synchronous: this is for commands, not for a server.
 */
export class ObjectSequence {
  readonly #root: string;
  readonly #objects: ObjectLedger;
  readonly #hasher: Blake3 = createBlake3();
  #next = 0;
  #open: ObjectInProgress | null = null;

  constructor(root: string, objects: ObjectLedger) {
    this.#root = root;
    this.#objects = objects;
  }

  /**
   * Fills a buffer with the bytes that follow.
   *
   * @returns the bytes filled; fewer than asked for only at the end of the last object
   * @throws ObjectFault when an object is missing or damaged
   */
  async fill(buffer: Buffer): Promise<number> {
    let filled = 0;
    while (filled < buffer.length) {
      const open = await this.#current();
      if (open === null) break;
      const wanted = Math.min(buffer.length - filled, open.file.size - open.read, READ_BYTES);
      const count = wanted === 0 ? 0 : readSync(open.file.fd, buffer, filled, wanted, open.read);
      if (count < wanted && count === 0) throw damaged(open.blake3, 'was cut off while it was read');
      this.#hasher.update(buffer.subarray(filled, filled + count));
      open.read += count;
      filled += count;
      if (open.read === open.file.size) await this.#finish();
    }
    return filled;
  }

  async close(): Promise<void> {
    await this.#open?.file.close();
    this.#open = null;
  }

  async #current(): Promise<ObjectInProgress | null> {
    if (this.#open !== null || this.#next === this.#objects.length) return this.#open;
    const blake3 = this.#objects.blake3(this.#next);
    const file = await openObject({ root: this.#root, blake3, size: this.#objects.size(this.#next) });
    this.#next += 1;
    this.#open = { file, blake3, read: 0 };
    return this.#open;
  }

  async #finish(): Promise<void> {
    const blake3 = this.#open?.blake3;
    const found = this.#hasher.digest().toString('hex');
    this.#hasher.reset();
    await this.close();
    if (blake3 !== undefined && found !== blake3) throw damaged(blake3, `has the digest ${found}`);
  }
}

function damaged(blake3: Blake3Hex, what: string): ObjectFault {
  return new ObjectFault('digest_mismatch', blake3, `object ${blake3} ${what}`);
}
