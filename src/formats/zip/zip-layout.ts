import type { ByteSource } from '../byte-source.ts';
import {
  findExtra,
  IN_ZIP64,
  RECORD_SIZE,
  readUInt64,
  ZIP64_EXTRA,
  ZIP_FLAGS,
  zipInvalid,
  type EntrySizes,
  type ZipEntry,
} from './zip-directory.ts';

const LOCAL_HEADER = 0x04_03_4b_50;
export const LOCAL_HEADER_SIZE = 30;
const DESCRIPTOR = 0x08_07_4b_50;
const MAX_DESCRIPTOR = 24;
/** Writers set the others, such as the level of compression, in one of the two places only. */
const COMPARED_FLAGS = ZIP_FLAGS.encrypted | ZIP_FLAGS.dataDescriptor;

/** Where the parts of an entry are: offsets from the start of the source. */
export interface ZipLayout {
  readonly start: number;
  readonly dataStart: number;
  /** The data ends; a data descriptor can follow. */
  readonly dataEnd: number;
  /** The form of the data descriptor behind the data; `null` without one. */
  readonly descriptor: DescriptorLayout | null;
  /** The next entry or the directory begins. From `start` to here is the raw entry. */
  readonly end: number;
}

interface DescriptorLayout {
  readonly hasSignature: boolean;
  readonly isLong: boolean;
}

/**
 * Reads the local header of an entry and compares it with the directory (APPNOTE 4.3.7, 4.3.9).
 *
 * @throws FormatError `zip_invalid` where they differ or the entry is not within its range
 */
export function locateEntry(source: ByteSource, entry: ZipEntry): ZipLayout {
  const { localOffset: start, endOffset: end } = entry;
  if (start + LOCAL_HEADER_SIZE > end)
    throw zipInvalid('the entry overlaps another one or the directory', start);
  const header = source.read(start, LOCAL_HEADER_SIZE);
  if (header.readUInt32LE(0) !== LOCAL_HEADER) throw zipInvalid('there is no local header', start);
  const nameEnd = start + LOCAL_HEADER_SIZE + header.readUInt16LE(26);
  const dataStart = nameEnd + header.readUInt16LE(28);
  const dataEnd = dataStart + entry.compressedSize;
  if (dataEnd > end) throw zipInvalid('the entry overlaps another one or the directory', start);
  const record = source.read(entry.recordOffset, entry.recordLength);
  const nameLength = record.readUInt16LE(28);
  const name = record.subarray(RECORD_SIZE, RECORD_SIZE + nameLength);
  const extra = source.read(nameEnd, dataStart - nameEnd);
  const isSame =
    name.equals(source.read(start + LOCAL_HEADER_SIZE, nameEnd - start - LOCAL_HEADER_SIZE)) &&
    ((header.readUInt16LE(6) ^ entry.flags) & COMPARED_FLAGS) === 0 &&
    header.readUInt16LE(8) === entry.method &&
    hasSameSizes(header, extra, entry);
  if (!isSame) throw zipInvalid('the local header contradicts the directory', start);
  let descriptor: DescriptorLayout | null = null;
  if ((entry.flags & ZIP_FLAGS.dataDescriptor) !== 0) {
    descriptor = readDescriptor(source.read(dataEnd, Math.min(MAX_DESCRIPTOR, end - dataEnd)), entry);
    if (descriptor === null) throw zipInvalid('the data descriptor contradicts the directory', dataEnd);
  }
  return { start, dataStart, dataEnd, descriptor, end };
}

/** Where a data descriptor follows, the header has no sizes; programs write zero or something else there. */
function hasSameSizes(header: Buffer, extra: Buffer, entry: ZipEntry): boolean {
  if ((entry.flags & ZIP_FLAGS.dataDescriptor) !== 0) return true;
  const long = findExtra(extra, ZIP64_EXTRA);
  const fits = (value: number, longAt: number, expected: number): boolean =>
    value !== IN_ZIP64 || long === null || longAt + 8 > long.length
      ? value === expected
      : readUInt64(long, longAt, entry.localOffset) === expected;
  return (
    header.readUInt32LE(14) === entry.crc32 &&
    fits(header.readUInt32LE(18), 8, entry.compressedSize) &&
    fits(header.readUInt32LE(22), 0, entry.uncompressedSize)
  );
}

/** With or without signature, with sizes of 4 or 8 bytes: a descriptor does not say which of the four forms it has. */
function readDescriptor(bytes: Buffer, entry: ZipEntry): DescriptorLayout | null {
  const signature = bytes.length >= 4 && bytes.readUInt32LE(0) === DESCRIPTOR ? 4 : 0;
  for (const at of new Set([signature, 0])) {
    if (at + 12 > bytes.length || bytes.readUInt32LE(at) !== entry.crc32) continue;
    const isShort =
      bytes.readUInt32LE(at + 4) === entry.compressedSize &&
      bytes.readUInt32LE(at + 8) === entry.uncompressedSize;
    const isLong =
      at + 20 <= bytes.length &&
      bytes.readBigUInt64LE(at + 4) === BigInt(entry.compressedSize) &&
      bytes.readBigUInt64LE(at + 12) === BigInt(entry.uncompressedSize);
    if (isShort || isLong) return { hasSignature: at > 0, isLong };
  }
  return null;
}

/** Writes a data descriptor. @throws RangeError when a size does not fit into its form */
export function writeDescriptor(
  { hasSignature, isLong }: DescriptorLayout,
  { crc32, compressedSize, uncompressedSize }: EntrySizes,
): Buffer {
  const bytes = Buffer.alloc(descriptorBytes({ hasSignature, isLong }));
  let at = hasSignature ? bytes.writeUInt32LE(DESCRIPTOR, 0) : 0;
  at = bytes.writeUInt32LE(crc32, at);
  for (const size of [compressedSize, uncompressedSize]) {
    at = isLong ? bytes.writeBigUInt64LE(BigInt(size), at) : bytes.writeUInt32LE(size, at);
  }
  return bytes;
}

export function descriptorBytes({ hasSignature, isLong }: DescriptorLayout): number {
  return (hasSignature ? 4 : 0) + 4 + (isLong ? 16 : 8);
}
