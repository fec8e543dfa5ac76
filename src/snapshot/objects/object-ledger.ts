import type { Blake3Hex } from '../../domain/release/digest.ts';
import { OBJECT_DAMAGES } from '../../domain/verdict/damage-kind.ts';

export const ENTRY_STATUSES = ['ok', ...OBJECT_DAMAGES] as const;

export type EntryStatus = (typeof ENTRY_STATUSES)[number];

const DIGEST_BYTES = 32;
const FIRST_CAPACITY = 1024;

/**
 * Checked objects with their status: about 50 bytes each, so that a store of millions of objects is
 * verified once however many releases share them.
 */
export class ObjectLedger {
  #capacity = FIRST_CAPACITY;
  #digests = Buffer.alloc(FIRST_CAPACITY * DIGEST_BYTES);
  #sizes = new Float64Array(FIRST_CAPACITY);
  /** Position in the statuses + 1; 0 while the look is not finished. */
  #statuses = new Uint8Array(FIRST_CAPACITY);
  /** Open addressing: id + 1, or 0. */
  #slots = new Uint32Array(FIRST_CAPACITY * 2);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  find(blake3: Blake3Hex): number {
    return (this.#slots[this.#slotOf(Buffer.from(blake3, 'hex'))] ?? 0) - 1;
  }

  add(blake3: Blake3Hex, size: number): number {
    if (this.#length === this.#capacity) this.#grow();
    const digest = Buffer.from(blake3, 'hex');
    const id = this.#length;
    digest.copy(this.#digests, id * DIGEST_BYTES);
    this.#sizes[id] = size;
    this.#slots[this.#slotOf(digest)] = id + 1;
    this.#length = id + 1;
    return id;
  }

  blake3(id: number): Blake3Hex {
    const start = id * DIGEST_BYTES;
    return this.#digests.toString('hex', start, start + DIGEST_BYTES) as Blake3Hex;
  }

  size(id: number): number {
    return this.#sizes[id] ?? 0;
  }

  status(id: number): EntryStatus | null {
    return ENTRY_STATUSES[(this.#statuses[id] ?? 0) - 1] ?? null;
  }

  setStatus(id: number, status: EntryStatus): void {
    this.#statuses[id] = ENTRY_STATUSES.indexOf(status) + 1;
  }

  #slotOf(digest: Buffer): number {
    const mask = this.#slots.length - 1;
    let slot = digest.readUInt32LE(0) & mask;
    for (;;) {
      const id = (this.#slots[slot] ?? 0) - 1;
      if (id < 0) return slot;
      const start = id * DIGEST_BYTES;
      if (digest.compare(this.#digests, start, start + DIGEST_BYTES) === 0) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    this.#capacity *= 2;
    const digests = Buffer.alloc(this.#capacity * DIGEST_BYTES);
    this.#digests.copy(digests);
    this.#digests = digests;
    const sizes = new Float64Array(this.#capacity);
    sizes.set(this.#sizes);
    this.#sizes = sizes;
    const statuses = new Uint8Array(this.#capacity);
    statuses.set(this.#statuses);
    this.#statuses = statuses;
    this.#slots = new Uint32Array(this.#capacity * 2);
    for (let id = 0; id < this.#length; id += 1) {
      const start = id * DIGEST_BYTES;
      this.#slots[this.#slotOf(digests.subarray(start, start + DIGEST_BYTES))] = id + 1;
    }
  }
}
