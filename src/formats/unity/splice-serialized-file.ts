import { FormatError } from '../format-error.ts';
import { PatchError } from '../patch/patch-error.ts';
import { type Splice, type SplicedSource, spliceSource } from '../patch/spliced-source.ts';
import type { SerializedFile, SerializedObject } from './serialized-file.ts';
import { LARGE_SINCE, SIZE_FIELD } from './serialized-header.ts';

/** The splices of an object, with positions in its file, in their order. */
export type ObjectSplices = ReadonlyMap<SerializedObject, readonly Splice[]>;

/**
 * Unity aligns objects to 8 or, from Unity 6000 on, to 16. Everything behind a changed object moves by a multiple of 16, so
 * both stay as they are, and so do the files behind this one in a bundle.
 */
export const SHIFT_UNIT = 16;
const PATH_ID_BYTES = 8;
const MOST_UINT32 = 0xffff_ffff;

/**
 * Changes objects of a serialized file. Positions and sizes in the object table and the size in the header are new; the rest
 * of the metadata and all other objects are copied.
 *
 * @param sizeUnit the file becomes longer or shorter by a multiple of it, and ends with zeros where that is needed; itself a
 *   multiple of 16. See `sizeUnitOf`.
 * @throws FormatError `serialized_invalid` when objects overlap
 * @throws PatchError `file_too_large` when a size or a position does not fit into its field
 */
export function spliceSerializedFile(
  file: SerializedFile,
  changes: ObjectSplices,
  sizeUnit = SHIFT_UNIT,
): SplicedSource {
  const { header, source } = file;
  const objects = file.objects.toSorted(
    (left, right) => left.offset - right.offset || left.size - right.size,
  );
  const metadataEnd = header.headerBytes + header.metadataBytes;
  const metadata = Buffer.from(source.read(0, metadataEnd));
  const splices: Splice[] = [{ offset: 0, length: metadataEnd, bytes: metadata }];
  let shift = 0;
  let end = metadataEnd;
  for (const [index, object] of objects.entries()) {
    if (object.offset < end && object.size > 0) {
      throw new FormatError('serialized_invalid', `object ${object.pathId} overlaps another`, object.offset);
    }
    end = Math.max(end, object.offset + object.size);
    const own = changes.get(object) ?? [];
    const growth = growthOf(own);
    writeEntry(metadata, file, object, { shift, growth });
    for (const splice of own) splices.push(splice);
    if (growth === 0) continue;
    const next = objects[index + 1]?.offset ?? header.fileSize;
    const gap = gapSplice(file, end, Math.max(end, next), growth);
    if (gap !== null) splices.push(gap);
    shift += growth + growthOf(gap === null ? [] : [gap]);
  }
  const rest = (sizeUnit - (shift % sizeUnit)) % sizeUnit;
  if (rest > 0) splices.push({ offset: header.fileSize, length: 0, bytes: Buffer.alloc(rest) });
  writeFileSize(metadata, file, header.fileSize + shift + rest);
  return spliceSource(source, splices);
}

function growthOf(splices: readonly Splice[]): number {
  return splices.reduce((sum, { bytes, length }) => sum + bytes.length - length, 0);
}

/**
 * Makes the gap behind a changed object such that everything behind it moves by a multiple of {@link SHIFT_UNIT}; `null` where
 * it does so already. A usual gap is replaced by the smallest one, so that a change and its reversal give the same file.
 */
function gapSplice({ source }: SerializedFile, from: number, to: number, growth: number): Splice | null {
  const length = to - from;
  const isPadding = length < SHIFT_UNIT && source.read(from, length).every((byte) => byte === 0);
  const kept = isPadding ? 0 : length;
  const rest = (length - kept - growth) % SHIFT_UNIT;
  const bytes = Buffer.alloc(rest < 0 ? rest + SHIFT_UNIT : rest);
  if (bytes.length === length - kept) return null;
  return { offset: from + kept, length: length - kept, bytes };
}

function writeEntry(
  metadata: Buffer,
  { header }: SerializedFile,
  { pathId, entryOffset, offset, size }: SerializedObject,
  { shift, growth }: { readonly shift: number; readonly growth: number },
): void {
  const place = offset + shift - header.dataOffset;
  const isLarge = header.version >= LARGE_SINCE;
  if (size + growth > MOST_UINT32 || (!isLarge && place > MOST_UINT32)) {
    throw tooLarge(`object ${pathId}`, header.version);
  }
  const at = entryOffset + PATH_ID_BYTES;
  if (isLarge) writeInteger(metadata, header, BigInt(place), at);
  else writeInteger(metadata, header, place, at);
  writeInteger(metadata, header, size + growth, at + (isLarge ? 8 : 4));
}

function writeInteger(
  metadata: Buffer,
  { littleEndian }: SerializedFile['header'],
  value: number | bigint,
  at: number,
): void {
  if (typeof value === 'number') {
    if (littleEndian) metadata.writeUInt32LE(value, at);
    else metadata.writeUInt32BE(value, at);
  } else if (littleEndian) metadata.writeBigUInt64LE(value, at);
  else metadata.writeBigUInt64BE(value, at);
}

/** The header is big-endian in every file. */
function writeFileSize(metadata: Buffer, { header }: SerializedFile, size: number): void {
  if (header.version >= LARGE_SINCE) {
    metadata.writeBigUInt64BE(BigInt(size), SIZE_FIELD.large);
    return;
  }
  if (size > MOST_UINT32) throw tooLarge('the file', header.version);
  metadata.writeUInt32BE(size, SIZE_FIELD.small);
}

function tooLarge(what: string, version: number): PatchError {
  const message = `${what} becomes larger than version ${version} of a serialized file can say`;
  return new PatchError('file_too_large', '', message);
}
