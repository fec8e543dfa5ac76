import { crc32, deflateRawSync } from 'node:zlib';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import type { ByteSource } from '../byte-source.ts';
import { deflateWithin } from '../gzip/compressed-file.ts';
import { newPiece, type OutputPiece } from '../patch/output-pieces.ts';
import { PatchError } from '../patch/patch-error.ts';
import { READ_LIMITS, type ReadLimits } from '../value-visitor.ts';
import { openZip, STORED, type ZipArchive } from './open-zip.ts';
import { encryptZipCrypto, ENCRYPTION_HEADER } from './zip-crypto.ts';
import { ZIP_FLAGS, zipInvalid, type EntrySizes, type ZipEntry } from './zip-directory.ts';
import { descriptorBytes, writeDescriptor, type ZipLayout } from './zip-layout.ts';
import { changedEnd, changedLocalHeader, changedRecord, type EntryValues } from './zip-records.ts';
import { bufferOf } from '../../platform/buffer-of.ts';

/** Makes the new content of an entry. */
export type PatchEntry = (content: Buffer) => Uint8Array;

export interface PatchZipOptions {
  /** The password of an entry; `null` or left out where none is known. */
  readonly passwordOf?: (name: string) => Uint8Array | null;
  readonly limits?: ReadLimits;
}

/** The same level for every archive, so that the same content gives the same bytes. */
const LEVEL = 6;
const RECORD_CHUNK = 256 * 1024;

/**
 * Writes an archive with other contents of some entries. Everything else keeps its bytes: the other entries with all that
 * is between them, the order, names, times, extra fields and comments. A changed entry is stored, deflated and encrypted
 * as it was. Only one changed entry is in memory at a time.
 *
 * @throws PatchError `place_not_found`, and what a patch throws; FormatError when the archive or an entry cannot be read,
 *   also when an entry that is not changed reaches into another one
 */
export function* patchZip(
  source: ByteSource,
  patches: ReadonlyMap<string, PatchEntry>,
  { passwordOf = () => null, limits = READ_LIMITS }: PatchZipOptions = {},
): Generator<OutputPiece, void, undefined> {
  const archive = openZip(source, limits);
  const { directory, entries } = archive;
  checkNames(entries, patches);
  const inPlace = entries.toSorted((left, right) => left.localOffset - right.localOffset);
  const layouts = new Map(inPlace.map((entry) => [entry, archive.locate(entry)]));
  const moved = new Map<ZipEntry, EntryValues>();
  let written = inPlace[0]?.localOffset ?? directory.start;
  yield { source, offset: 0, length: written };
  for (const entry of inPlace) {
    const layout = layouts.get(entry);
    if (layout === undefined) throw new Error('an entry has no layout');
    const patch = patches.get(entry.name);
    const localOffset = written - directory.shift;
    if (patch === undefined) {
      moved.set(entry, { ...valuesOf(entry), localOffset });
      written += layout.end - layout.start;
      yield { source, offset: layout.start, length: layout.end - layout.start };
      continue;
    }
    const content = patch(archive.readEntry(entry, passwordOf(entry.name) ?? undefined));
    const made = encodeEntry(entry, content, passwordOf(entry.name), limits);
    moved.set(entry, { ...made.values, localOffset });
    for (const piece of entryPieces(source, layout, made)) {
      written += piece.length;
      yield piece;
    }
  }
  yield* directoryPieces(source, archive, moved, written);
}

function checkNames(entries: readonly ZipEntry[], patches: ReadonlyMap<string, PatchEntry>): void {
  const names = new Set(entries.map(({ name }) => name));
  for (const name of patches.keys()) {
    if (!names.has(name))
      throw new PatchError('place_not_found', name, 'the archive has no entry of this name');
  }
}

interface EncodedEntry {
  readonly data: Buffer;
  readonly values: EntrySizes;
}

function encodeEntry(
  entry: ZipEntry,
  content: Uint8Array,
  password: Uint8Array | null,
  limits: ReadLimits,
): EncodedEntry {
  if (content.length > limits.entryBytes) {
    const message = `the new content has ${content.length} bytes, more than ${limits.entryBytes}`;
    throw new PatchError('file_too_large', entry.name, message);
  }
  const checksum = crc32(content);
  const packed =
    entry.method === STORED
      ? bufferOf(content)
      : deflateWithin(limits.ratio, content, (strategy) =>
          deflateRawSync(content, { level: LEVEL, strategy }),
        );
  const data =
    (entry.flags & ZIP_FLAGS.encrypted) === 0
      ? packed
      : encryptZipCrypto(
          packed,
          password ?? Buffer.alloc(0),
          nonceOf(entry, content),
          checkByte(entry, checksum),
        );
  return {
    data,
    values: { crc32: checksum, compressedSize: data.length, uncompressedSize: content.length },
  };
}

/** Random bytes are usual here; bytes of the content keep the archive the same for the same content. */
function nonceOf({ name }: ZipEntry, content: Uint8Array): Buffer {
  const digest = blake3Hex(Buffer.from(`${blake3Hex(content)}\0${name}`));
  return Buffer.from(digest, 'hex').subarray(0, ENCRYPTION_HEADER - 1);
}

/** A reader that meets the entry in a stream does not know the checksum yet where a descriptor follows (APPNOTE 6.1.6). */
function checkByte({ flags, modifiedTime }: ZipEntry, checksum: number): number {
  return (flags & ZIP_FLAGS.dataDescriptor) === 0 ? checksum >>> 24 : modifiedTime >>> 8;
}

function valuesOf({ crc32: checksum, compressedSize, uncompressedSize }: ZipEntry): EncodedEntry['values'] {
  return { crc32: checksum, compressedSize, uncompressedSize };
}

function entryPieces(
  source: ByteSource,
  { start, dataStart, dataEnd, descriptor, end }: ZipLayout,
  { data, values }: EncodedEntry,
): readonly OutputPiece[] {
  const header = source.read(start, dataStart - start);
  const restStart = dataEnd + (descriptor === null ? 0 : descriptorBytes(descriptor));
  return [
    newPiece(changedLocalHeader(header, values, descriptor !== null)),
    newPiece(data),
    newPiece(descriptor === null ? Buffer.alloc(0) : writeDescriptor(descriptor, values)),
    { source, offset: restStart, length: end - restStart },
  ];
}

function* directoryPieces(
  source: ByteSource,
  { directory, entries }: ZipArchive,
  moved: ReadonlyMap<ZipEntry, EntryValues>,
  start: number,
): Generator<OutputPiece, void, undefined> {
  let records: Buffer[] = [];
  let pending = 0;
  let size = 0;
  for (const entry of entries) {
    const values = moved.get(entry);
    if (values === undefined) throw zipInvalid('an entry is not within the archive', entry.recordOffset);
    const record = changedRecord(source.read(entry.recordOffset, entry.recordLength), values);
    records.push(record);
    pending += record.length;
    size += record.length;
    if (pending < RECORD_CHUNK) continue;
    yield newPiece(Buffer.concat(records));
    records = [];
    pending = 0;
  }
  const { zip64End, endRecord, count, shift } = directory;
  const zip64 = zip64End === null ? null : source.read(zip64End, endRecord - zip64End);
  const end = source.read(endRecord, source.size - endRecord);
  yield newPiece(Buffer.concat([...records, changedEnd({ count, size, offset: start - shift }, zip64, end)]));
}
