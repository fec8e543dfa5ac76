import type { Blake3Hex, Crc64Decimal, SnapshotId } from '../../domain/release/digest.ts';
import { DESTINATION_MAX_BYTES, type Destination } from '../../domain/release/destination.ts';
import type { EntrySource, ManifestEntry, ManifestHeader } from '../../domain/release/manifest.ts';
import { hashBytes, hashText, slotOf } from './destination-hash.ts';
import { DestinationCursor, type DestinationList } from './destination-list.ts';

/**
 * A manifest as columns: no object per entry, so that a million entries cost little memory, move between threads by
 * transfer, and give the garbage collector nothing to walk.
 */
export interface ManifestColumns {
  readonly header: ManifestHeader;
  readonly snapshotId: SnapshotId;
  readonly length: number;
  /** 32 bytes an entry. */
  readonly digests: Uint8Array<ArrayBuffer>;
  /** Bytes; doubles hold every integer to 2^53. */
  readonly sizes: Float64Array<ArrayBuffer>;
  /** Two numbers an entry: the low 32 bits, then the high ones. */
  readonly crc64: Uint32Array<ArrayBuffer>;
  /** All destinations in UTF-8. */
  readonly destinations: DestinationList;
  readonly mediaTypes: readonly string[];
  /** Position in `mediaTypes`. */
  readonly mediaTypeIds: Uint16Array<ArrayBuffer>;
  /** One bit an entry: set for `localized`. */
  readonly localized: Uint8Array<ArrayBuffer>;
  /** Ascending positions of the entries that have a block list. */
  readonly large: Uint32Array<ArrayBuffer>;
  /** Digests of their block lists, 32 bytes each, in the order of `large`. */
  readonly blockLists: Uint8Array<ArrayBuffer>;
  /** Open addressing, linear probing: position + 1, or 0 for an empty slot. */
  readonly table: Uint32Array<ArrayBuffer>;
  /** Seed of the hash, so that nobody can choose destinations that collide. */
  readonly seed: number;
}

/** A verified manifest in memory. Positions are 0 to `length - 1`, in the byte order of the destinations. */
export interface ManifestIndex {
  readonly columns: ManifestColumns;
  readonly header: ManifestHeader;
  readonly snapshotId: SnapshotId;
  readonly length: number;
  /** The position of exactly this destination, or -1. */
  find(destination: string): number;
  /** @throws RangeError for a position that does not exist, like every accessor below */
  entry(position: number): ManifestEntry;
  /** A page: at most `limit` entries from `offset` on; empty past the end. */
  entries(offset: number, limit: number): ManifestEntry[];
  destination(position: number): Destination;
  size(position: number): number;
  blake3(position: number): Blake3Hex;
  crc64(position: number): Crc64Decimal;
  source(position: number): EntrySource;
  mediaType(position: number): string;
  /** BLAKE3 of the block list; `null` for an entry of one block. */
  blocks(position: number): Blake3Hex | null;
  /**
   * For each of these digests every position whose bytes have it, ascending. Scans once for all of them: for the rare
   * cases only.
   */
  findDigests(wanted: Iterable<Blake3Hex>): Map<Blake3Hex, number[]>;
  /**
   * The positions in `[from, to)` whose digest begins with this byte, ascending. Scans: a 256th of the bytes, evenly
   * spread and the same over all manifests.
   */
  findDigestsOf(firstByte: number, from: number, to: number): number[];
  /** Bytes that the columns take. */
  readonly memoryBytes: number;
}

const DIGEST_BYTES = 32;
const DIGEST_WORDS = DIGEST_BYTES / 4;

/** Makes the index over columns. Takes constant time: everything was prepared where the columns were built. */
export function createManifestIndex(columns: ManifestColumns): ManifestIndex {
  const { header, snapshotId, length } = columns;
  const accessors = createAccessors(columns);
  const { destination, size, blake3, crc64, source, mediaType, blocks } = accessors;

  const entry = (position: number): ManifestEntry => {
    const blockList = blocks(position);
    return {
      destination: destination(position),
      size: size(position),
      blake3: blake3(position),
      crc64: crc64(position),
      source: source(position),
      media_type: mediaType(position),
      ...(blockList === null ? {} : { blocks: blockList }),
    };
  };

  return {
    columns,
    header,
    snapshotId,
    length,
    find: createFinder(columns),
    entry,
    entries: (offset, limit) => {
      const page: ManifestEntry[] = [];
      const end = Math.min(length, offset + limit);
      for (let position = offset; position < end; position += 1) page.push(entry(position));
      return page;
    },
    ...accessors,
    ...createDigestScans(columns),
    memoryBytes: columnBuffers(columns).reduce((sum, buffer) => sum + buffer.byteLength, 0),
  };
}

function createAccessors(columns: ManifestColumns) {
  const { length } = columns;
  const digests = bufferOver(columns.digests);
  const blockLists = bufferOver(columns.blockLists);
  const cursor = new DestinationCursor(columns.destinations);

  const check = (position: number): void => {
    if (!Number.isInteger(position) || position < 0 || position >= length) {
      throw new RangeError(`the manifest has no entry at position ${position}: it has ${length}`);
    }
  };

  return {
    destination: (position: number) => {
      check(position);
      cursor.seek(position);
      return cursor.bytes.toString('utf8', 0, cursor.length) as Destination;
    },
    size: (position: number) => {
      check(position);
      return columns.sizes[position] ?? 0;
    },
    blake3: (position: number) => {
      check(position);
      return hexAt(digests, position);
    },
    crc64: (position: number) => {
      check(position);
      const low = BigInt(columns.crc64[2 * position] ?? 0);
      const high = BigInt(columns.crc64[2 * position + 1] ?? 0);
      return String((high << 32n) | low) as Crc64Decimal;
    },
    source: (position: number): EntrySource => {
      check(position);
      return ((columns.localized[position >> 3] ?? 0) >> (position & 7)) & 1 ? 'localized' : 'official';
    },
    mediaType: (position: number) => {
      check(position);
      return columns.mediaTypes[columns.mediaTypeIds[position] ?? 0] ?? '';
    },
    blocks: (position: number) => {
      check(position);
      const at = searchSorted(columns.large, position);
      return at < 0 ? null : hexAt(blockLists, at);
    },
  };
}

function createFinder({ destinations, table, seed }: ManifestColumns): ManifestIndex['find'] {
  const scratch = new Uint8Array(DESTINATION_MAX_BYTES);
  const encoder = new TextEncoder();
  const cursor = new DestinationCursor(destinations);

  const isText = (position: number, text: string): boolean => {
    cursor.seek(position);
    if (cursor.length !== text.length) return false;
    // From the end: destinations share their beginnings.
    for (let i = text.length - 1; i >= 0; i -= 1) {
      if (cursor.bytes[i] !== text.charCodeAt(i)) return false;
    }
    return true;
  };

  const isBytes = (position: number, bytes: number): boolean => {
    cursor.seek(position);
    return cursor.length === bytes && cursor.bytes.compare(scratch, 0, bytes, 0, bytes) === 0;
  };

  const probe = (hash: number, isWanted: (position: number) => boolean): number => {
    for (let slot = slotOf(hash, table.length); ; slot = slot + 1 === table.length ? 0 : slot + 1) {
      const position = (table[slot] ?? 0) - 1;
      if (position < 0 || isWanted(position)) return position;
    }
  };

  const findEncoded = (text: string): number => {
    // encodeInto would turn a lone surrogate into U+FFFD, which is another name.
    if (!text.isWellFormed()) return -1;
    const { read, written } = encoder.encodeInto(text, scratch);
    if (read !== text.length) return -1;
    return probe(hashBytes(scratch, 0, written, seed), (position) => isBytes(position, written));
  };

  return (destination) => {
    if (destination.length > DESTINATION_MAX_BYTES) return -1;
    const hash = hashText(destination, seed);
    return hash < 0 ? findEncoded(destination) : probe(hash, (position) => isText(position, destination));
  };
}

function createDigestScans({ digests: column, length }: ManifestColumns) {
  const digests = bufferOver(column);
  const words = new Uint32Array(column.buffer, column.byteOffset, length * DIGEST_WORDS);
  return {
    findDigests: (wanted: Iterable<Blake3Hex>) => {
      const found = new Map<Blake3Hex, number[]>();
      const firstWords = new Set<number | undefined>();
      for (const blake3 of wanted) {
        found.set(blake3, []);
        firstWords.add(new Uint32Array(Uint8Array.from(Buffer.from(blake3, 'hex')).buffer)[0]);
      }
      for (let position = 0; position < length; position += 1) {
        if (firstWords.has(words[position * DIGEST_WORDS])) {
          found.get(hexAt(digests, position))?.push(position);
        }
      }
      return found;
    },
    findDigestsOf: (firstByte: number, from: number, to: number) => {
      const found: number[] = [];
      const end = Math.min(to, length);
      for (let position = from; position < end; position += 1) {
        if (digests[position * DIGEST_BYTES] === firstByte) found.push(position);
      }
      return found;
    },
  };
}

/** The buffers behind columns: what a thread transfers, and what they cost. */
export function columnBuffers(columns: ManifestColumns): ArrayBuffer[] {
  return [
    columns.digests.buffer,
    columns.sizes.buffer,
    columns.crc64.buffer,
    columns.destinations.bytes.buffer,
    columns.destinations.blockOffsets.buffer,
    columns.mediaTypeIds.buffer,
    columns.localized.buffer,
    columns.large.buffer,
    columns.blockLists.buffer,
    columns.table.buffer,
  ];
}

function bufferOver(column: Uint8Array<ArrayBuffer>): Buffer<ArrayBuffer> {
  return Buffer.from(column.buffer, column.byteOffset, column.byteLength);
}

function hexAt(digests: Buffer, position: number): Blake3Hex {
  return digests.toString('hex', position * DIGEST_BYTES, (position + 1) * DIGEST_BYTES) as Blake3Hex;
}

function searchSorted(sorted: Uint32Array, wanted: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const value = sorted[middle] ?? 0;
    if (value === wanted) return middle;
    if (value < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
