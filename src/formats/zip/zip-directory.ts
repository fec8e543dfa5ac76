import type { ByteSource } from '../byte-source.ts';
import { FormatError, readableOr } from '../format-error.ts';
import type { ReadLimits } from '../value-visitor.ts';
import { crc32 } from 'node:zlib';

/** Bits of the general purpose flags (APPNOTE 4.4.4). */
export const ZIP_FLAGS = {
  encrypted: 1 << 0,
  dataDescriptor: 1 << 3,
  patchData: 1 << 5,
  strongEncryption: 1 << 6,
  utf8: 1 << 11,
  maskedHeaders: 1 << 13,
} as const;

/** A size or an offset of 32 bits with this value is in the ZIP64 extra field. */
export const IN_ZIP64 = 0xff_ff_ff_ff;
export const ZIP64_EXTRA = 1;
/** The identifier and the length of an extra field. */
export const EXTRA_HEADER = 4;

const END_RECORD = 0x06_05_4b_50;
const END_RECORD_SIZE = 22;
const MAX_COMMENT = 0xff_ff;
export const ZIP64_LOCATOR = 0x07_06_4b_50;
export const ZIP64_LOCATOR_SIZE = 20;
export const ZIP64_END_RECORD = 0x06_06_4b_50;
export const ZIP64_END_RECORD_SIZE = 56;
const RECORD = 0x02_01_4b_50;
export const RECORD_SIZE = 46;
/** The directory is held in memory. A record of a usual entry has about 100 bytes. */
const MAX_DIRECTORY = 256 * 1024 * 1024;

export interface DirectoryPlace {
  readonly start: number;
  readonly end: number;
  readonly count: number;
  /** Bytes before the archive; its offsets do not count them. */
  readonly shift: number;
  /** Where the ZIP64 end record begins; `null` without one. */
  readonly zip64End: number | null;
  readonly endRecord: number;
}

export interface EntrySizes {
  readonly crc32: number;
  readonly compressedSize: number;
  readonly uncompressedSize: number;
}

/** An entry as the directory describes it. All offsets are from the start of the source. */
export interface ZipEntry extends EntrySizes {
  /** As it is stored, so it can be absolute or contain `..`. Never use it as a path of the file system. */
  readonly name: string;
  /** Why the entry cannot be identified by its name, or `null`. */
  readonly flaw: string | null;
  readonly flags: number;
  readonly method: number;
  readonly modifiedTime: number;
  readonly localOffset: number;
  /** Where the next entry or the directory begins. */
  readonly endOffset: number;
  /** The record in the directory, which has all that a copy of the entry needs besides its raw bytes. */
  readonly recordOffset: number;
  readonly recordLength: number;
}

type FoundEntry = Omit<ZipEntry, 'endOffset' | 'flaw'> & { endOffset: number; flaw: string | null };

export function zipInvalid(message: string, offset: number | null): FormatError {
  return new FormatError('zip_invalid', message, offset);
}

/**
 * Finds the directory. The end record has to reach exactly to the end of the source, so bytes behind the archive are an
 * error; bytes before it are not.
 */
export function findDirectory(source: ByteSource): DirectoryPlace {
  const tailLength = Math.min(source.size, END_RECORD_SIZE + MAX_COMMENT);
  const tailStart = source.size - tailLength;
  const tail = source.read(tailStart, tailLength);
  for (let at = tailLength - END_RECORD_SIZE; at >= 0; at -= 1) {
    const fits = tail.readUInt32LE(at) === END_RECORD;
    if (fits && at + END_RECORD_SIZE + tail.readUInt16LE(at + 20) === tailLength) {
      return directoryPlace(source, tail.subarray(at), tailStart + at);
    }
  }
  throw zipInvalid('there is no end of a zip directory, or bytes follow it', source.size);
}

/** Whether a file ends with the end of a zip directory that is in it: an archive with other bytes before it. */
export function endsAsZip(source: ByteSource): boolean {
  if (source.size < END_RECORD_SIZE) return false;
  const signature = source.read(source.size - END_RECORD_SIZE, 4).readUInt32LE(0);
  if (signature !== END_RECORD) return false;
  return readableOr(false, () => findDirectory(source).count > 0);
}

function directoryPlace(source: ByteSource, record: Buffer, at: number): DirectoryPlace {
  const short = {
    disk: record.readUInt16LE(4),
    directoryDisk: record.readUInt16LE(6),
    diskCount: record.readUInt16LE(8),
    count: record.readUInt16LE(10),
    size: record.readUInt32LE(12),
    offset: record.readUInt32LE(16),
  };
  const long = findZip64(source, at);
  if (long !== null) {
    const contradicts = (value: number, max: number, exact: number): boolean =>
      value !== max && value !== exact;
    if (
      contradicts(short.count, 0xff_ff, long.count) ||
      contradicts(short.size, IN_ZIP64, long.size) ||
      contradicts(short.offset, IN_ZIP64, long.offset)
    ) {
      throw zipInvalid('the two ends of the directory contradict each other', at);
    }
  }
  const { disk, directoryDisk, diskCount, count, size, offset } = long ?? short;
  if (disk !== 0 || directoryDisk !== 0 || diskCount !== count) throw zipInvalid('the archive is split', at);
  const end = long?.at ?? at;
  const start = end - size;
  const shift = start - offset;
  if (shift < 0) throw zipInvalid('the directory does not end where its size says', end);
  return { start, end, count, shift, zip64End: long?.at ?? null, endRecord: at };
}

interface Zip64End {
  readonly at: number;
  readonly disk: number;
  readonly directoryDisk: number;
  readonly diskCount: number;
  readonly count: number;
  readonly size: number;
  readonly offset: number;
}

/** The ZIP64 end record before the end record at `end`, or `null` when there is none (APPNOTE 4.3.14, 4.3.15). */
function findZip64(source: ByteSource, end: number): Zip64End | null {
  const locatorAt = end - ZIP64_LOCATOR_SIZE;
  if (locatorAt < 0) return null;
  const locator = source.read(locatorAt, ZIP64_LOCATOR_SIZE);
  if (locator.readUInt32LE(0) !== ZIP64_LOCATOR) return null;
  // Its offset does not count the bytes before the archive, so the second place is tried too.
  for (const at of [readUInt64(locator, 8, locatorAt), locatorAt - ZIP64_END_RECORD_SIZE]) {
    if (at < 0 || at + ZIP64_END_RECORD_SIZE > locatorAt) continue;
    const record = source.read(at, ZIP64_END_RECORD_SIZE);
    if (record.readUInt32LE(0) !== ZIP64_END_RECORD) continue;
    if (at + 12 + readUInt64(record, 4, at) !== locatorAt) continue;
    return {
      at,
      disk: record.readUInt32LE(16),
      directoryDisk: record.readUInt32LE(20),
      diskCount: readUInt64(record, 24, at),
      count: readUInt64(record, 32, at),
      size: readUInt64(record, 40, at),
      offset: readUInt64(record, 48, at),
    };
  }
  throw zipInvalid('the ZIP64 end of the directory is not where its locator says', locatorAt);
}

/** Reads all records. Entries are in the order of the directory. */
export function readDirectory(source: ByteSource, place: DirectoryPlace, limits: ReadLimits): ZipEntry[] {
  const { start, end, count } = place;
  if (count > limits.elements || end - start > MAX_DIRECTORY) {
    const message = `the archive has ${count} entries and a directory of ${end - start} bytes; the limits are ${limits.elements} and ${MAX_DIRECTORY}`;
    throw new FormatError('zip_limit_exceeded', message, start);
  }
  const directory = source.read(start, end - start);
  const entries: FoundEntry[] = [];
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    const entry = readRecord(directory, at, place);
    entries.push(entry);
    at += entry.recordLength;
  }
  if (at !== directory.length) throw zipInvalid(`the directory has more than ${count} entries`, start + at);
  setEnds(entries, start);
  markDuplicates(entries);
  return entries;
}

function readRecord(directory: Buffer, at: number, { start, shift }: DirectoryPlace): FoundEntry {
  if (at + RECORD_SIZE > directory.length || directory.readUInt32LE(at) !== RECORD) {
    throw zipInvalid('there is no directory record', start + at);
  }
  const nameEnd = at + RECORD_SIZE + directory.readUInt16LE(at + 28);
  const extraEnd = nameEnd + directory.readUInt16LE(at + 30);
  const recordEnd = extraEnd + directory.readUInt16LE(at + 32);
  if (recordEnd > directory.length) throw zipInvalid('a record is longer than the directory', start + at);
  const nameBytes = directory.subarray(at + RECORD_SIZE, nameEnd);
  const extra = directory.subarray(nameEnd, extraEnd);
  // The extra field has the values that are too large for 32 bits, in this order.
  const long = findExtra(extra, ZIP64_EXTRA);
  let longAt = 0;
  const sizeOrOffset = (field: number): number => {
    const value = directory.readUInt32LE(at + field);
    if (value !== IN_ZIP64) return value;
    if (long === null || longAt + 8 > long.length) throw zipInvalid('a ZIP64 value is missing', start + at);
    longAt += 8;
    return readUInt64(long, longAt - 8, start + at);
  };
  const uncompressedSize = sizeOrOffset(24);
  const compressedSize = sizeOrOffset(20);
  const localOffset = sizeOrOffset(42) + shift;
  const flags = directory.readUInt16LE(at + 8);
  const name = decodeName(nameBytes, {
    isUtf8: (flags & ZIP_FLAGS.utf8) !== 0,
    system: directory[at + 5] ?? 0,
    extra: (identifier) => findExtra(extra, identifier),
  });
  return {
    name: name ?? nameBytes.toString('utf8'),
    flaw: nameFlaw(name),
    flags,
    method: directory.readUInt16LE(at + 10),
    modifiedTime: directory.readUInt16LE(at + 12),
    crc32: directory.readUInt32LE(at + 16),
    compressedSize,
    uncompressedSize,
    localOffset,
    endOffset: 0,
    recordOffset: start + at,
    recordLength: recordEnd - at,
  };
}

function nameFlaw(name: string | null): string | null {
  if (name === null) return 'the name of the entry is not valid UTF-8';
  if (name === '') return 'the name of the entry is empty';
  return name.includes('\0') ? 'the name of the entry contains a NUL' : null;
}

/** No entry may reach into the next one, so that no byte is decompressed twice. */
function setEnds(entries: readonly FoundEntry[], directoryStart: number): void {
  const sorted = entries.toSorted((first, second) => first.localOffset - second.localOffset);
  for (const [index, entry] of sorted.entries()) {
    const isShared = sorted[index - 1]?.localOffset === entry.localOffset;
    const nextOffset = sorted[index + 1]?.localOffset ?? directoryStart;
    entry.endOffset = isShared ? entry.localOffset : Math.min(nextOffset, directoryStart);
  }
}

/** Programs disagree on which of two entries with the same name counts. */
function markDuplicates(entries: readonly FoundEntry[]): void {
  const first = new Map<string, FoundEntry>();
  for (const entry of entries) {
    const other = first.get(entry.name);
    if (other === undefined) {
      first.set(entry.name, entry);
    } else {
      entry.flaw ??= 'another entry has the same name';
      other.flaw ??= 'another entry has the same name';
    }
  }
}

export function findExtra(extra: Buffer, identifier: number): Buffer | null {
  const field = findField(extra, identifier);
  return field === null ? null : extra.subarray(field.start + EXTRA_HEADER, field.end);
}

/** Where an extra field is. Bytes that form no extra field are ignored, as aligned archives have them. */
export function findField(
  extra: Buffer,
  identifier: number,
): { readonly start: number; readonly end: number } | null {
  for (let start = 0; start + EXTRA_HEADER <= extra.length;) {
    const end = start + EXTRA_HEADER + extra.readUInt16LE(start + 2);
    if (end > extra.length) return null;
    if (extra.readUInt16LE(start) === identifier) return { start, end };
    start = end;
  }
  return null;
}

/** @param blame the offset that an error names */
export function readUInt64(bytes: Buffer, at: number, blame: number): number {
  const value = Number(bytes.readBigUInt64LE(at));
  if (!Number.isSafeInteger(value)) throw zipInvalid('a ZIP64 value is larger than any file', blame);
  return value;
}

/** Code page 437 from 0x80; below it is ASCII. */
const UPPER_HALF =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00A0';

/** Identifier of the extra field "Info-ZIP Unicode Path". */
const UNICODE_PATH = 0x70_75;

/** Systems that made entries: the upper byte of "version made by" (APPNOTE 4.4.2). */
const UNIX = 3;

/**
 * The name of an entry (APPNOTE 4.4.17 and appendix D): UTF-8 where the flag says so or where an extra field has the
 * name in UTF-8, else code page 437. Programs on Unix write the bytes of the file system without a flag; they are UTF-8
 * if they are valid, as unzip reads them.
 *
 * @returns `null` when the bytes are not valid UTF-8 although they should be
 */
function decodeName(
  bytes: Buffer,
  {
    isUtf8,
    system,
    extra,
  }: {
    readonly isUtf8: boolean;
    readonly system: number;
    readonly extra: (identifier: number) => Buffer | null;
  },
): string | null {
  if (isUtf8) return decodeUtf8(bytes);
  const unicode = extra(UNICODE_PATH);
  // Version 1, then the checksum of the name that it belongs to: after a rename by a program without it, it is stale.
  if (
    unicode !== null &&
    unicode.length > 5 &&
    unicode[0] === 1 &&
    unicode.readUInt32LE(1) === crc32(bytes)
  ) {
    return decodeUtf8(unicode.subarray(5));
  }
  return (system === UNIX ? decodeUtf8(bytes) : null) ?? decodeCp437(bytes);
}

function decodeCp437(bytes: Buffer): string {
  return bytes.toString('latin1').replaceAll(/[\u0080-\u00FF]/g, (character) => {
    return UPPER_HALF.charAt(character.charCodeAt(0) - 0x80);
  });
}

function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
