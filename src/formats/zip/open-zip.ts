import { Readable } from 'node:stream';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import type { ByteSource } from '../byte-source.ts';
import { FormatError } from '../format-error.ts';
import type { ReadLimits } from '../value-visitor.ts';
import { decryptZipCrypto, ENCRYPTION_HEADER } from './zip-crypto.ts';
import {
  findDirectory,
  readDirectory,
  ZIP_FLAGS,
  zipInvalid,
  type DirectoryPlace,
  type ZipEntry,
} from './zip-directory.ts';
import { locateEntry, type ZipLayout } from './zip-layout.ts';

/** The methods that can be read and written (APPNOTE 4.4.5). */
export const STORED = 0;
const DEFLATED = 8;
const AES = 99;
/** Of an entry that is not compressed. */
const SLICE_BYTES = 64 * 1024;
const UNSUPPORTED_FLAGS = ZIP_FLAGS.patchData | ZIP_FLAGS.strongEncryption | ZIP_FLAGS.maskedHeaders;

/** An archive whose directory is read and consistent. */
export interface ZipArchive {
  /** In the order of the directory; directories and entries that cannot be read are among them. */
  readonly entries: readonly ZipEntry[];
  readonly directory: DirectoryPlace;
  /** Where the parts of an entry are, so that it can be copied as it is. @throws FormatError `zip_invalid` */
  locate(entry: ZipEntry): ZipLayout;
  /**
   * The data of an entry. Its length and its CRC-32 are checked.
   *
   * @param password decrypts ZipCrypto; not used for an entry that is not encrypted
   * @throws FormatError `zip_encrypted`, `zip_password_wrong`, `zip_method_unsupported`, `zip_limit_exceeded`,
   *   `zip_invalid`. Other entries can still be read
   */
  readEntry(entry: ZipEntry, password?: Uint8Array): Buffer;
  /** The data of an entry that is not encrypted, in pieces; otherwise as {@link readEntry}. A damage can be found only at the end. */
  streamEntry(entry: ZipEntry): AsyncGenerator<Buffer>;
}

/**
 * Opens a zip archive (PKWARE APPNOTE 6.3) with its directory, which has to be at the end. Where two parts of the archive
 * contradict each other, neither is trusted: a contradiction in the directory fails the archive; an entry fails when its
 * local header differs from the directory, when it reaches into another one, or when another one has its name.
 *
 * @throws FormatError `zip_invalid`, `zip_limit_exceeded`
 */
export function openZip(source: ByteSource, limits: ReadLimits): ZipArchive {
  const place = findDirectory(source);
  const entries = readDirectory(source, place, limits);
  return {
    entries,
    directory: place,
    locate: (entry) => locateEntry(source, entry),
    readEntry: (entry, password) => {
      checkReadable(entry, limits, password);
      const { dataStart } = locateEntry(source, entry);
      const data = source.read(dataStart, entry.compressedSize);
      return (entry.flags & ZIP_FLAGS.encrypted) === 0 || password === undefined
        ? unpack(entry, data)
        : decryptAndUnpack(entry, data, password);
    },
    streamEntry: (entry) => {
      checkReadable(entry, limits, undefined);
      return unpackInPieces(entry, source.read(locateEntry(source, entry).dataStart, entry.compressedSize));
    },
  };
}

/** Rejects by the directory alone, before any data is read. */
function checkReadable(entry: ZipEntry, limits: ReadLimits, password: Uint8Array | undefined): void {
  const { flags, method, compressedSize, uncompressedSize, localOffset, name } = entry;
  if (entry.flaw !== null) throw zipInvalid(entry.flaw, entry.recordOffset);
  const fail = (
    code: 'zip_encrypted' | 'zip_limit_exceeded' | 'zip_method_unsupported',
    message: string,
  ): never => {
    throw new FormatError(code, `${name}: ${message}`, localOffset);
  };
  const isSupported = method === STORED || method === DEFLATED;
  if (!isSupported || (flags & UNSUPPORTED_FLAGS) !== 0) {
    fail(
      'zip_method_unsupported',
      method === AES ? 'AES encryption' : `method ${method}, flags 0x${flags.toString(16)}`,
    );
  }
  if ((flags & ZIP_FLAGS.encrypted) !== 0 && password === undefined)
    fail('zip_encrypted', 'no password is known');
  const size = Math.max(compressedSize, uncompressedSize);
  if (size > limits.entryBytes) {
    fail('zip_limit_exceeded', `${size} bytes are more than ${limits.entryBytes}`);
  }
  if (uncompressedSize > compressedSize * limits.ratio) {
    fail(
      'zip_limit_exceeded',
      `${uncompressedSize} of ${compressedSize} bytes are more than ${limits.ratio} times`,
    );
  }
}

function decryptAndUnpack(entry: ZipEntry, data: Buffer, password: Uint8Array): Buffer {
  if (data.length < ENCRYPTION_HEADER)
    throw zipInvalid('the encryption header is missing', entry.localOffset);
  const checks = [entry.crc32 >>> 24];
  // A writer that does not know the checksum yet takes the time.
  if ((entry.flags & ZIP_FLAGS.dataDescriptor) !== 0) checks.push(entry.modifiedTime >>> 8);
  const plain = decryptZipCrypto(data, password, checks);
  if (plain === null) {
    const message = `${entry.name}: the password does not fit`;
    throw new FormatError('zip_password_wrong', message, entry.localOffset);
  }
  try {
    return unpack(entry, plain);
  } catch (error) {
    if (!(error instanceof FormatError) || error.code !== 'zip_invalid') throw error;
    const message = `${error.message}, or the password is a wrong one of those that fit by chance (1 of 256)`;
    throw zipInvalid(message, null);
  }
}

function unpack(entry: ZipEntry, data: Buffer): Buffer {
  const content = entry.method === STORED ? data : inflate(entry, data);
  if (content.length !== entry.uncompressedSize) {
    const message = `${entry.name} has ${content.length} bytes instead of ${entry.uncompressedSize}`;
    throw zipInvalid(message, entry.localOffset);
  }
  if (crc32(content) !== entry.crc32)
    throw zipInvalid(`${entry.name}: the CRC-32 is wrong`, entry.localOffset);
  return content;
}

async function* unpackInPieces(entry: ZipEntry, data: Buffer): AsyncGenerator<Buffer> {
  const { name, uncompressedSize, localOffset } = entry;
  let size = 0;
  let sum = 0;
  const content = entry.method === STORED ? Readable.from(slicesOf(data)) : inflatedStream(data);
  try {
    for await (const piece of content) {
      const bytes = piece as Buffer;
      size += bytes.length;
      if (size > uncompressedSize) break;
      sum = crc32(bytes, sum);
      yield bytes;
    }
  } catch (error) {
    if (!isZlibError(error)) throw error;
    throw zipInvalid(`${name}: the compressed data is damaged`, localOffset);
  } finally {
    content.destroy();
  }
  if (size !== uncompressedSize)
    throw zipInvalid(`${name} does not have ${uncompressedSize} bytes`, localOffset);
  if (sum !== entry.crc32) throw zipInvalid(`${name}: the CRC-32 is wrong`, localOffset);
}

/** Only for data that is compressed: an error of a stream that nobody reads ends the program. */
function inflatedStream(data: Buffer): Readable {
  const inflated = createInflateRaw();
  inflated.end(data);
  return inflated;
}

function* slicesOf(data: Buffer): Generator<Buffer> {
  for (let at = 0; at < data.length; at += SLICE_BYTES) yield data.subarray(at, at + SLICE_BYTES);
}

function inflate({ name, uncompressedSize, localOffset }: ZipEntry, data: Buffer): Buffer {
  const options = {
    // Never more than the directory says, which is within the limits.
    maxOutputLength: Math.max(uncompressedSize, 1),
    // One more byte than needed, so that the data fits into one chunk and is not copied.
    chunkSize: Math.max(uncompressedSize + 1, 64),
    info: true,
  };
  try {
    // With `info` the result has this form, which the types do not know.
    const result: unknown = inflateRawSync(data, options);
    const { buffer, engine } = result as { buffer: Buffer; engine: { bytesWritten: number } };
    if (engine.bytesWritten === data.length) return buffer;
  } catch (error) {
    if (!isZlibError(error)) throw error;
  }
  throw zipInvalid(`${name}: the compressed data is damaged or has another length`, localOffset);
}

/** Whether zlib refuses the data; ERR_BUFFER_TOO_LARGE: they are longer than the directory says. */
function isZlibError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('Z_') || code === 'ERR_BUFFER_TOO_LARGE';
}
