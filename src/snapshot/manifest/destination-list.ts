import { DESTINATION_MAX_BYTES } from '../../domain/release/destination.ts';

/** Entries of which only the first is written in full. More would save little and make each lookup decode more. */
const BLOCK_ENTRIES = 16;
const FIRST_CAPACITY = 64 * 1024;
const UINT32_RANGE = 2 ** 32;

/**
 * Destinations in ascending byte order, front-coded: each is written as the number of bytes that it shares with the
 * previous one, the number of its other bytes, and these. Paths share long prefixes, so this takes a fraction of their
 * length. Every 16th shares nothing, so that any of them is found without decoding more than 15 others.
 *
 * Source: Witten, Moffat and Bell, "Managing Gigabytes", section 4.1 ("front coding").
 */
export interface DestinationList {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where every 16th destination begins in `bytes`. */
  readonly blockOffsets: Uint32Array<ArrayBuffer>;
}

export class DestinationListBuilder {
  readonly #capacity: number;
  readonly #blockOffsets: Uint32Array<ArrayBuffer>;
  readonly #last = Buffer.alloc(DESTINATION_MAX_BYTES);
  #lastLength = 0;
  #bytes: Buffer<ArrayBuffer> = Buffer.from(new ArrayBuffer(FIRST_CAPACITY));
  #used = 0;
  #length = 0;

  /** @param capacity how many will be added; the caller has bounded it */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#blockOffsets = new Uint32Array(Math.ceil(capacity / BLOCK_ENTRIES));
  }

  /**
   * Adds `line[start, end)`. It must be greater than the previous one, by bytes; returns why not, or `null`.
   *
   * @param shared what {@link sharedWith} gave for it
   */
  append(line: Uint8Array, start: number, end: number, shared: number): string | null {
    const length = end - start;
    if (length > DESTINATION_MAX_BYTES) return `the destination has more than ${DESTINATION_MAX_BYTES} bytes`;
    if (this.#length > 0) {
      if (shared === length && shared === this.#lastLength) return 'the destination appears twice';
      const isGreater =
        shared < length &&
        (shared === this.#lastLength || (line[start + shared] ?? 0) > (this.#last[shared] ?? 0));
      if (!isGreater) return 'the destination is not in byte order';
    }
    const isFirst = this.#length % BLOCK_ENTRIES === 0;
    const skipped = isFirst ? 0 : shared;
    this.#reserve(this.#used + 4 + length - skipped);
    if (this.#used >= UINT32_RANGE) return 'the destinations take 4 GiB or more';
    if (isFirst) this.#blockOffsets[this.#length / BLOCK_ENTRIES] = this.#used;
    this.#writeLength(skipped);
    this.#writeLength(length - skipped);
    for (let i = shared; i < length; i += 1) this.#last[i] = line[start + i] ?? 0;
    this.#lastLength = length;
    this.#last.copy(this.#bytes, this.#used, skipped, length);
    this.#used += length - skipped;
    this.#length += 1;
    return null;
  }

  /** Bytes at the beginning of `line[start, end)` that are the same in the destination added last. */
  sharedWith(line: Uint8Array, start: number, end: number): number {
    const most = Math.min(end - start, this.#lastLength);
    let shared = 0;
    while (shared < most && line[start + shared] === this.#last[shared]) shared += 1;
    return shared;
  }

  /** The list. The builder must not be used afterwards. */
  finish(): DestinationList {
    // A transfer frees the old memory immediately, not at some later collection.
    return {
      bytes: new Uint8Array(this.#bytes.buffer.transfer(this.#used)),
      blockOffsets: this.#blockOffsets,
    };
  }

  /** At most 1,024: seven bits a byte, the least significant first, the highest bit set on all but the last. */
  #writeLength(value: number): void {
    if (value > 0x7f) {
      this.#bytes[this.#used] = 0x80 | (value & 0x7f);
      this.#bytes[this.#used + 1] = value >> 7;
      this.#used += 2;
    } else {
      this.#bytes[this.#used] = value;
      this.#used += 1;
    }
  }

  #reserve(needed: number): void {
    if (needed <= this.#bytes.length) return;
    // Guessing the end from what there is keeps the last doubling from costing twice the memory.
    const guess = this.#length === 0 ? needed : Math.ceil((needed / this.#length) * this.#capacity * 1.1);
    const capacity = Math.max(
      needed,
      Math.min(guess, this.#bytes.length * 8),
      Math.ceil(this.#bytes.length * 1.5),
    );
    this.#bytes = Buffer.from(this.#bytes.buffer.transfer(capacity));
  }
}

/** Decodes destinations of a list, one at a time, into its own buffer. */
export class DestinationCursor {
  readonly #list: DestinationList;
  readonly bytes: Buffer = Buffer.alloc(DESTINATION_MAX_BYTES);
  length = 0;
  #at = 0;

  constructor(list: DestinationList) {
    this.#list = list;
  }

  seek(position: number): void {
    this.#at = this.#list.blockOffsets[Math.floor(position / BLOCK_ENTRIES)] ?? 0;
    for (let left = position % BLOCK_ENTRIES; left >= 0; left -= 1) this.next();
  }

  next(): void {
    const coded = this.#list.bytes;
    const shared = this.#readLength(coded);
    const end = shared + this.#readLength(coded);
    let at = this.#at;
    for (let i = shared; i < end; i += 1) {
      this.bytes[i] = coded[at] ?? 0;
      at += 1;
    }
    this.#at = at;
    this.length = end;
  }

  #readLength(coded: Uint8Array): number {
    const low = coded[this.#at] ?? 0;
    this.#at += 1;
    if (low <= 0x7f) return low;
    const high = coded[this.#at] ?? 0;
    this.#at += 1;
    return (low & 0x7f) | (high << 7);
  }
}
