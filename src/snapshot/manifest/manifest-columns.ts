import { MANIFEST_MAX_MEDIA_TYPES } from '../../contract/formats/manifest-format.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import type { ManifestEntry, ManifestHeader } from '../../domain/release/manifest.ts';
import { hashBytes, slotOf } from './destination-hash.ts';
import { DestinationCursor, DestinationListBuilder, type DestinationList } from './destination-list.ts';
import type { ManifestColumns } from './manifest-index.ts';

const DIGEST_BYTES = 32;
/** Fuller than this, linear probing gets slow. */
const MAX_LOAD = 0.7;

/** One entry whose destination still lies in the buffer that its line was read into, and whose digests are decoded. */
export interface RawEntry {
  destinationStart: number;
  destinationEnd: number;
  /** Bytes at its beginning that are the same in the destination before it. */
  shared: number;
  size: number;
  /** 32 bytes. */
  readonly blake3: Uint8Array;
  crc64High: number;
  crc64Low: number;
  localized: boolean;
  mediaType: string;
  hasBlocks: boolean;
  /** 32 bytes; without meaning when the entry has no block list. */
  readonly blocks: Uint8Array;
}

/** An entry to fill in. */
export function createRawEntry(): RawEntry {
  return {
    destinationStart: 0,
    destinationEnd: 0,
    shared: 0,
    size: 0,
    blake3: new Uint8Array(DIGEST_BYTES),
    crc64High: 0,
    crc64Low: 0,
    localized: false,
    mediaType: '',
    hasBlocks: false,
    blocks: new Uint8Array(DIGEST_BYTES),
  };
}

export class ManifestColumnsBuilder {
  readonly #header: ManifestHeader;
  readonly #capacity: number;
  readonly #digests: Uint8Array<ArrayBuffer>;
  readonly #sizes: Float64Array<ArrayBuffer>;
  readonly #crc64: Uint32Array<ArrayBuffer>;
  readonly destinations: DestinationListBuilder;
  readonly #mediaTypeIds: Uint16Array<ArrayBuffer>;
  readonly #localized: Uint8Array<ArrayBuffer>;
  readonly #mediaTypes: string[] = [];
  readonly #mediaTypeByText = new Map<string, number>();
  #large = new Uint32Array(64);
  #blockLists = new Uint8Array(64 * DIGEST_BYTES);
  #largeCount = 0;
  #length = 0;
  #totalBytes = 0;
  #lastMediaType: { readonly text: string; readonly id: number } | null = null;

  /** @param header its `entry_count` is how many entries will be added at most; the caller has bounded it */
  constructor(header: ManifestHeader) {
    this.#header = header;
    this.#capacity = header.entry_count;
    this.#digests = new Uint8Array(this.#capacity * DIGEST_BYTES);
    this.#sizes = new Float64Array(this.#capacity);
    this.#crc64 = new Uint32Array(this.#capacity * 2);
    this.destinations = new DestinationListBuilder(this.#capacity);
    this.#mediaTypeIds = new Uint16Array(this.#capacity);
    this.#localized = new Uint8Array(Math.ceil(this.#capacity / 8));
  }

  get length(): number {
    return this.#length;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  get lastIsLocalized(): boolean {
    const position = this.#length - 1;
    return position >= 0 && (((this.#localized[position >> 3] ?? 0) >> (position & 7)) & 1) === 1;
  }

  /** Adds an entry. Its destination must be greater than the previous one, by bytes; returns why not, or `null`. */
  append(entry: ManifestEntry): string | null {
    const destination = Buffer.from(entry.destination);
    const crc64 = BigInt(entry.crc64);
    return this.appendRaw(destination, {
      destinationStart: 0,
      destinationEnd: destination.length,
      shared: this.destinations.sharedWith(destination, 0, destination.length),
      size: entry.size,
      blake3: Buffer.from(entry.blake3, 'hex'),
      crc64High: Number(crc64 >> 32n),
      crc64Low: Number(crc64 & 0xffff_ffffn),
      localized: entry.source === 'localized',
      mediaType: entry.media_type,
      hasBlocks: entry.blocks !== undefined,
      blocks: Buffer.from(entry.blocks ?? '', 'hex'),
    });
  }

  /** As {@link append}, from the parts of a checked line. */
  appendRaw(line: Buffer, entry: RawEntry): string | null {
    const position = this.#length;
    if (position >= this.#capacity) return `there are more entries than the ${this.#capacity} of the header`;
    const mediaTypeId = this.#mediaTypeId(entry.mediaType);
    if (mediaTypeId < 0) return `there are more than ${MANIFEST_MAX_MEDIA_TYPES} media types`;
    const problem = this.destinations.append(
      line,
      entry.destinationStart,
      entry.destinationEnd,
      entry.shared,
    );
    if (problem !== null) return problem;
    copyDigest(entry.blake3, this.#digests, position);
    this.#sizes[position] = entry.size;
    this.#totalBytes += entry.size;
    this.#crc64[2 * position] = entry.crc64Low;
    this.#crc64[2 * position + 1] = entry.crc64High;
    this.#mediaTypeIds[position] = mediaTypeId;
    if (entry.localized)
      this.#localized[position >> 3] = (this.#localized[position >> 3] ?? 0) | (1 << (position & 7));
    if (entry.hasBlocks) this.#addLarge(position, entry.blocks);
    this.#length = position + 1;
    return null;
  }

  /**
   * The columns. The builder must not be used afterwards.
   *
   * @param seed of the hash table, from 1 to `HASH_SEEDS` - 1; random where others choose the destinations
   * @throws Error when fewer entries were added than the header states
   */
  finish(snapshotId: SnapshotId, seed: number): ManifestColumns {
    if (this.#length !== this.#capacity) {
      throw new Error(`the manifest has ${this.#length} entries; its header says ${this.#capacity}`);
    }
    const destinations = this.destinations.finish();
    return {
      header: this.#header,
      snapshotId,
      length: this.#length,
      digests: this.#digests,
      sizes: this.#sizes,
      crc64: this.#crc64,
      destinations,
      mediaTypes: this.#mediaTypes,
      mediaTypeIds: this.#mediaTypeIds,
      localized: this.#localized,
      large: this.#large.slice(0, this.#largeCount),
      blockLists: this.#blockLists.slice(0, this.#largeCount * DIGEST_BYTES),
      table: buildTable(destinations, this.#length, seed),
      seed,
    };
  }

  #mediaTypeId(text: string): number {
    if (this.#lastMediaType?.text === text) return this.#lastMediaType.id;
    let id = this.#mediaTypeByText.get(text);
    if (id === undefined) {
      id = this.#mediaTypes.length;
      if (id >= MANIFEST_MAX_MEDIA_TYPES) return -1;
      this.#mediaTypes.push(text);
      this.#mediaTypeByText.set(text, id);
    }
    this.#lastMediaType = { text, id };
    return id;
  }

  #addLarge(position: number, blocks: Uint8Array): void {
    if (this.#largeCount === this.#large.length) {
      const large = new Uint32Array(this.#large.length * 2);
      large.set(this.#large);
      this.#large = large;
      const lists = new Uint8Array(this.#blockLists.length * 2);
      lists.set(this.#blockLists);
      this.#blockLists = lists;
    }
    this.#large[this.#largeCount] = position;
    copyDigest(blocks, this.#blockLists, this.#largeCount);
    this.#largeCount += 1;
  }
}

function buildTable(list: DestinationList, length: number, seed: number): Uint32Array<ArrayBuffer> {
  const table = new Uint32Array(Math.max(8, Math.ceil(length / MAX_LOAD)));
  const cursor = new DestinationCursor(list);
  for (let position = 0; position < length; position += 1) {
    cursor.next();
    let slot = slotOf(hashBytes(cursor.bytes, 0, cursor.length, seed), table.length);
    while (table[slot] !== 0) slot = slot + 1 === table.length ? 0 : slot + 1;
    table[slot] = position + 1;
  }
  return table;
}

/** A loop: for 32 bytes a call of `set` costs more than the copy. */
function copyDigest(digest: Uint8Array, target: Uint8Array, position: number): void {
  const at = position * DIGEST_BYTES;
  for (let i = 0; i < DIGEST_BYTES; i += 1) target[at + i] = digest[i] ?? 0;
}
