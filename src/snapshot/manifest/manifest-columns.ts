import { MANIFEST_MAX_MEDIA_TYPES } from '../../contract/formats/manifest-format.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import type { ManifestEntry, ManifestHeader } from '../../domain/release/manifest.ts';
import { hashBytes, HASH_SEEDS, slotOf } from './destination-hash.ts';
import { DestinationCursor, DestinationListBuilder, type DestinationList } from './destination-list.ts';
import { createManifestIndex, type ManifestColumns, type ManifestIndex } from './manifest-index.ts';

const DIGEST_BYTES = 32;
/** Fuller than this, linear probing gets slow. */
const MAX_LOAD = 0.7;

/** One entry whose text parts still lie in the buffer that the line was read into; offsets into that buffer. */
export interface RawEntry {
  destinationStart: number;
  destinationEnd: number;
  size: number;
  /** Where 64 hexadecimal digits begin. */
  blake3Start: number;
  crc64: bigint;
  localized: boolean;
  mediaTypeStart: number;
  mediaTypeEnd: number;
  /** Where 64 hexadecimal digits begin, or -1. */
  blocksStart: number;
}

/** Builds the columns of a manifest, entry by entry, in memory that is allotted once. */
export class ManifestColumnsBuilder {
  readonly #header: ManifestHeader;
  readonly #capacity: number;
  readonly #digests: Uint8Array<ArrayBuffer>;
  readonly #sizes: Float64Array<ArrayBuffer>;
  readonly #crc64: BigUint64Array<ArrayBuffer>;
  readonly #destinations: DestinationListBuilder;
  readonly #mediaTypeIds: Uint16Array<ArrayBuffer>;
  readonly #localized: Uint8Array<ArrayBuffer>;
  readonly #mediaTypes: string[] = [];
  readonly #mediaTypeByText = new Map<string, number>();
  #large = new Uint32Array(64);
  #blockLists = new Uint8Array(64 * DIGEST_BYTES);
  #largeCount = 0;
  #length = 0;
  #totalBytes = 0;
  #lastMediaType: { readonly bytes: Buffer; readonly id: number } | null = null;

  /** @param header its `entry_count` is how many entries will be added at most; the caller has bounded it */
  constructor(header: ManifestHeader) {
    this.#header = header;
    this.#capacity = header.entry_count;
    this.#digests = new Uint8Array(this.#capacity * DIGEST_BYTES);
    this.#sizes = new Float64Array(this.#capacity);
    this.#crc64 = new BigUint64Array(this.#capacity);
    this.#destinations = new DestinationListBuilder(this.#capacity);
    this.#mediaTypeIds = new Uint16Array(this.#capacity);
    this.#localized = new Uint8Array(Math.ceil(this.#capacity / 8));
  }

  /** Entries added so far. */
  get length(): number {
    return this.#length;
  }

  /** Sum of their sizes. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** Whether the entry added last is a localized one. */
  get lastIsLocalized(): boolean {
    const position = this.#length - 1;
    return position >= 0 && (((this.#localized[position >> 3] ?? 0) >> (position & 7)) & 1) === 1;
  }

  /** Adds an entry. Its destination must be greater than the one before, by bytes; returns why not, or `null`. */
  append(entry: ManifestEntry): string | null {
    const destination = Buffer.from(entry.destination);
    const text = `${entry.blake3}${entry.blocks ?? ''}${entry.media_type}`;
    const rest = Buffer.from(text, 'latin1');
    const mediaTypeStart = destination.length + (entry.blocks === undefined ? 64 : 128);
    return this.appendRaw(Buffer.concat([destination, rest]), {
      destinationStart: 0,
      destinationEnd: destination.length,
      size: entry.size,
      blake3Start: destination.length,
      crc64: BigInt(entry.crc64),
      localized: entry.source === 'localized',
      mediaTypeStart,
      mediaTypeEnd: mediaTypeStart + entry.media_type.length,
      blocksStart: entry.blocks === undefined ? -1 : destination.length + 64,
    });
  }

  /** As {@link append}, from the parts of a checked line. */
  appendRaw(line: Buffer, entry: RawEntry): string | null {
    const position = this.#length;
    if (position >= this.#capacity) return `there are more entries than the ${this.#capacity} of the header`;
    const mediaTypeId = this.#mediaTypeId(line, entry.mediaTypeStart, entry.mediaTypeEnd);
    if (mediaTypeId < 0) return `there are more than ${MANIFEST_MAX_MEDIA_TYPES} media types`;
    const problem = this.#destinations.append(line, entry.destinationStart, entry.destinationEnd);
    if (problem !== null) return problem;
    decodeHex(line, entry.blake3Start, this.#digests, position * DIGEST_BYTES);
    this.#sizes[position] = entry.size;
    this.#totalBytes += entry.size;
    this.#crc64[position] = entry.crc64;
    this.#mediaTypeIds[position] = mediaTypeId;
    if (entry.localized)
      this.#localized[position >> 3] = (this.#localized[position >> 3] ?? 0) | (1 << (position & 7));
    if (entry.blocksStart >= 0) this.#addLarge(position, line, entry.blocksStart);
    this.#length = position + 1;
    return null;
  }

  /**
   * The columns. The builder must not be used afterwards.
   *
   * @param seed of the hash table, from 1 to {@link HASH_SEEDS} - 1; random where others choose the destinations
   * @throws Error when fewer entries were added than the header states
   */
  finish(snapshotId: SnapshotId, seed: number): ManifestColumns {
    if (this.#length !== this.#capacity) {
      throw new Error(`the manifest has ${this.#length} entries; its header says ${this.#capacity}`);
    }
    const destinations = this.#destinations.finish();
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

  #mediaTypeId(line: Buffer, start: number, end: number): number {
    const last = this.#lastMediaType;
    if (
      last !== null &&
      last.bytes.length === end - start &&
      line.compare(last.bytes, 0, end - start, start, end) === 0
    ) {
      return last.id;
    }
    const text = line.toString('latin1', start, end);
    let id = this.#mediaTypeByText.get(text);
    if (id === undefined) {
      id = this.#mediaTypes.length;
      if (id >= MANIFEST_MAX_MEDIA_TYPES) return -1;
      this.#mediaTypes.push(text);
      this.#mediaTypeByText.set(text, id);
    }
    this.#lastMediaType = { bytes: Buffer.from(text, 'latin1'), id };
    return id;
  }

  #addLarge(position: number, line: Buffer, blocksStart: number): void {
    if (this.#largeCount === this.#large.length) {
      const large = new Uint32Array(this.#large.length * 2);
      large.set(this.#large);
      this.#large = large;
      const lists = new Uint8Array(this.#blockLists.length * 2);
      lists.set(this.#blockLists);
      this.#blockLists = lists;
    }
    this.#large[this.#largeCount] = position;
    decodeHex(line, blocksStart, this.#blockLists, this.#largeCount * DIGEST_BYTES);
    this.#largeCount += 1;
  }
}

/**
 * Builds an index from entries in memory, in the byte order of their destinations: for small manifests and for tests.
 *
 * @throws Error when the entries are out of order, repeated, or not as many as the header states
 */
export function indexEntries(
  header: ManifestHeader,
  snapshotId: SnapshotId,
  entries: Iterable<ManifestEntry>,
): ManifestIndex {
  const builder = new ManifestColumnsBuilder(header);
  for (const entry of entries) {
    const problem = builder.append(entry);
    if (problem !== null) throw new Error(`${JSON.stringify(entry.destination)}: ${problem}`);
  }
  return createManifestIndex(builder.finish(snapshotId, HASH_SEEDS - 1));
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

function decodeHex(line: Uint8Array, start: number, target: Uint8Array, at: number): void {
  for (let i = 0; i < DIGEST_BYTES; i += 1) {
    const high = line[start + 2 * i] ?? 0;
    const low = line[start + 2 * i + 1] ?? 0;
    target[at + i] = (nibble(high) << 4) | nibble(low);
  }
}

// Only for what was checked to be a lower-case hexadecimal digit: '0' is 0x30, 'a' is 0x61.
function nibble(digit: number): number {
  return digit < 0x3a ? digit - 0x30 : digit - 0x57;
}
