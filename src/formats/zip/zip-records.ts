import {
  EXTRA_HEADER,
  findField,
  IN_ZIP64,
  RECORD_SIZE,
  ZIP64_END_RECORD,
  ZIP64_END_RECORD_SIZE,
  ZIP64_EXTRA,
  ZIP64_LOCATOR,
  ZIP64_LOCATOR_SIZE,
  zipInvalid,
  type EntrySizes,
} from './zip-directory.ts';
import { LOCAL_HEADER_SIZE } from './zip-layout.ts';

/** The values of an entry that a new content or a new place changes. */
export interface EntryValues extends EntrySizes {
  /** As the archive counts, without bytes before it. */
  readonly localOffset: number;
}

const MAX_SHORT = 0xff_ff;
/** Version 4.5 reads ZIP64 (APPNOTE 4.4.3). */
const ZIP64_VERSION = 45;

/** A value of a directory record that can be in its ZIP64 field, and its place in the record. */
const LONG_FIELDS = [
  ['uncompressedSize', 24],
  ['compressedSize', 20],
  ['localOffset', 42],
] as const;

/**
 * A directory record with other values. A value stays in the ZIP64 field where it was there; one that no longer fits into
 * 32 bits moves there.
 */
export function changedRecord(record: Buffer, values: EntryValues): Buffer {
  const fixed = Buffer.from(record.subarray(0, RECORD_SIZE));
  fixed.writeUInt32LE(values.crc32, 16);
  const long: Buffer[] = [];
  let before = 0;
  for (const [name, at] of LONG_FIELDS) {
    const value = values[name];
    const wasLong = record.readUInt32LE(at) === IN_ZIP64;
    if (wasLong) before += 1;
    if (wasLong || value >= IN_ZIP64) {
      fixed.writeUInt32LE(IN_ZIP64, at);
      long.push(uint64(value));
    } else {
      fixed.writeUInt32LE(value, at);
    }
  }
  const nameEnd = RECORD_SIZE + record.readUInt16LE(28);
  const extraEnd = nameEnd + record.readUInt16LE(30);
  const extra = changedExtra(record.subarray(nameEnd, extraEnd), long, before);
  if (extra.length > MAX_SHORT)
    throw zipInvalid('the extra fields of an entry leave no place for ZIP64', null);
  fixed.writeUInt16LE(extra.length, 30);
  if (long.length > before) fixed.writeUInt16LE(Math.max(fixed.readUInt16LE(6), ZIP64_VERSION), 6);
  return Buffer.concat([fixed, record.subarray(RECORD_SIZE, nameEnd), extra, record.subarray(extraEnd)]);
}

/** Extra fields with other values in the one of ZIP64. Bytes behind the values (the number of a disk) stay. */
function changedExtra(extra: Buffer, values: readonly Buffer[], before: number): Buffer {
  if (values.length === 0) return extra;
  const found = findField(extra, ZIP64_EXTRA);
  if (found === null) return Buffer.concat([longField(values), extra]);
  const rest = extra.subarray(found.start + EXTRA_HEADER + 8 * before, found.end);
  return Buffer.concat([
    extra.subarray(0, found.start),
    longField([...values, rest]),
    extra.subarray(found.end),
  ]);
}

function longField(values: readonly Buffer[]): Buffer {
  const data = Buffer.concat(values);
  const header = Buffer.alloc(EXTRA_HEADER);
  header.writeUInt16LE(ZIP64_EXTRA, 0);
  header.writeUInt16LE(data.length, 2);
  return Buffer.concat([header, data]);
}

/**
 * A local header with other values, name and extra fields included. Where a data descriptor follows, the header has no
 * values of its own.
 */
export function changedLocalHeader(
  header: Buffer,
  { crc32, compressedSize, uncompressedSize }: EntrySizes,
  hasDescriptor: boolean,
): Buffer {
  const changed = Buffer.from(header);
  if (hasDescriptor) return changed;
  changed.writeUInt32LE(crc32, 14);
  const extraStart = LOCAL_HEADER_SIZE + header.readUInt16LE(26);
  const field = findField(header.subarray(extraStart), ZIP64_EXTRA);
  for (const [value, at, longAt] of [
    [compressedSize, 18, 8],
    [uncompressedSize, 22, 0],
  ] as const) {
    const isLong = header.readUInt32LE(at) === IN_ZIP64;
    const place = field === null ? null : extraStart + field.start + EXTRA_HEADER + longAt;
    if (isLong && field !== null && place !== null && place + 8 <= extraStart + field.end) {
      changed.writeBigUInt64LE(BigInt(value), place);
    } else {
      changed.writeUInt32LE(value, at);
    }
  }
  return changed;
}

/** The records behind the directory. Comments and what else they hold stay. */
export function changedEnd(
  {
    count,
    size,
    offset,
  }: {
    readonly count: number;
    readonly size: number;
    /** As the archive counts, without bytes before it. */
    readonly offset: number;
  },
  zip64: Buffer | null,
  end: Buffer,
): Buffer {
  const changed = Buffer.from(end);
  for (const [value, at] of [
    [size, 12],
    [offset, 16],
  ] as const) {
    const isLong = zip64 !== null && end.readUInt32LE(at) === IN_ZIP64;
    if (!isLong) changed.writeUInt32LE(Math.min(value, IN_ZIP64), at);
  }
  if (zip64 === null && size < IN_ZIP64 && offset < IN_ZIP64) return changed;
  const records = zip64 === null ? newZip64End() : Buffer.from(zip64);
  records.writeBigUInt64LE(BigInt(count), 24);
  records.writeBigUInt64LE(BigInt(count), 32);
  records.writeBigUInt64LE(BigInt(size), 40);
  records.writeBigUInt64LE(BigInt(offset), 48);
  records.writeBigUInt64LE(BigInt(offset + size), records.length - ZIP64_LOCATOR_SIZE + 8);
  return Buffer.concat([records, changed]);
}

/** A ZIP64 end record and its locator, without counts, sizes and offsets. */
function newZip64End(): Buffer {
  const records = Buffer.alloc(ZIP64_END_RECORD_SIZE + ZIP64_LOCATOR_SIZE);
  records.writeUInt32LE(ZIP64_END_RECORD, 0);
  records.writeBigUInt64LE(BigInt(ZIP64_END_RECORD_SIZE - 12), 4);
  records.writeUInt16LE(ZIP64_VERSION, 12);
  records.writeUInt16LE(ZIP64_VERSION, 14);
  records.writeUInt32LE(ZIP64_LOCATOR, ZIP64_END_RECORD_SIZE);
  // The archive has one disk.
  records.writeUInt32LE(1, ZIP64_END_RECORD_SIZE + 16);
  return records;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
