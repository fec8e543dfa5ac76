import type { ByteSource } from '../byte-source.ts';
import { FormatError } from '../format-error.ts';
import { MetadataCursor } from './metadata-cursor.ts';

const SMALLEST_HEADER = 20;

/** The header contains the byte order since version 9. No Unity version uses a number above `last`. */
const PLAUSIBLE_VERSIONS = { first: 9, last: 64 };

/**
 * Whether a file begins as a serialized file of Unity does: version, byte order and three reserved bytes. Its reader decides
 * which versions it knows.
 */
export function isSerializedHead(head: Buffer): boolean {
  if (head.length < SMALLEST_HEADER) return false;
  const version = head.readUInt32BE(8);
  const isVersion = version >= PLAUSIBLE_VERSIONS.first && version <= PLAUSIBLE_VERSIONS.last;
  return isVersion && (head[16] ?? 2) < 2 && head.readUIntBE(17, 3) === 0;
}

export interface SerializedHeader {
  /** 17 to 23; 23 only far enough to say why it is refused. */
  readonly version: number;
  /** The byte order of metadata and objects; the header itself is big-endian. */
  readonly littleEndian: boolean;
  readonly headerBytes: number;
  readonly metadataBytes: number;
  readonly fileSize: number;
  readonly dataOffset: number;
}

const VERSIONS = { first: 17, last: 22, recognized: 23 };
/** The first version with sizes and positions of 64 bits. */
export const LARGE_SINCE = 22;
const LARGE_HEADER = 48;
/** Where the size of the file stands: before version 22, and from it on. */
export const SIZE_FIELD = { small: 4, large: 24 } as const;

/**
 * Whether a file within a bundle is a serialized file of any version, rather than a resource. A resource has no header,
 * but any bytes, so the size in the header decides too.
 */
export function isSerializedFile(source: ByteSource): boolean {
  const head = source.read(0, Math.min(source.size, LARGE_HEADER));
  if (!isSerializedHead(head)) return false;
  const version = head.readUInt32BE(8);
  if (version < LARGE_SINCE) return head.readUInt32BE(SIZE_FIELD.small) === source.size;
  return head.length === LARGE_HEADER && head.readBigInt64BE(SIZE_FIELD.large) === BigInt(source.size);
}

/** @throws FormatError `serialized_version_unsupported` or `serialized_invalid` */
export function readSerializedHeader(source: ByteSource): SerializedHeader {
  const head = source.read(0, Math.min(source.size, LARGE_HEADER));
  const cursor = new MetadataCursor(head, 'serialized_invalid');
  let metadataBytes = cursor.uint32();
  let fileSize = cursor.uint32();
  const version = cursor.uint32();
  if (version < VERSIONS.first || version > VERSIONS.recognized) {
    throw new FormatError('serialized_version_unsupported', `version ${version} is not supported`, 8);
  }
  let dataOffset = cursor.uint32();
  const littleEndian = cursor.uint8() === 0;
  cursor.bytes(3);
  if (version >= LARGE_SINCE) {
    metadataBytes = cursor.uint32();
    fileSize = cursor.size64();
    dataOffset = cursor.size64();
    cursor.int64();
  }
  const headerBytes = cursor.position;
  if (fileSize > source.size || headerBytes + metadataBytes > fileSize || dataOffset > fileSize) {
    throw cursor.fail(`the sizes in the header contradict the ${source.size} bytes of the file`, 0);
  }
  return { version, littleEndian, headerBytes, metadataBytes, fileSize, dataOffset };
}
