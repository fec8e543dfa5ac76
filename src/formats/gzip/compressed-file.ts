import { constants, crc32, deflateRawSync, deflateSync, gunzipSync, inflateSync } from 'node:zlib';
import { bufferOf } from '../../platform/buffer-of.ts';
import { FormatError } from '../format-error.ts';
import type { ReadLimits } from '../value-visitor.ts';

/** A file with one compressed file in it: gzip (RFC 1952) or zlib (RFC 1950). */
export type Compression = 'gzip' | 'zlib';

const GZIP = { header: 10, trailer: 8, flagsAt: 3, headerCrc: 2, extra: 4, name: 8, comment: 16 } as const;
const ZLIB_HEADER = 2;
const BEST = 9;
/** The smallest window that zlib writes, as a power of two. */
const MIN_WINDOW_BITS = 9;

/**
 * The file in a compressed file. Its checksum is checked.
 *
 * @throws FormatError `compression_invalid`, also for several files in one and for bytes behind it, which could not be written again;
 *   `container_limit_exceeded`
 */
export function decompress(bytes: Uint8Array, compression: Compression, limits: ReadLimits): Buffer {
  const most = Math.min(limits.entryBytes, limits.ratio * bytes.length);
  try {
    const options = { maxOutputLength: Math.max(1, most), info: true } as const;
    const unpack = compression === 'gzip' ? gunzipSync : inflateSync;
    const { buffer, engine } = unpack(bytes, options) as unknown as {
      readonly buffer: Buffer;
      readonly engine: { readonly bytesWritten: number };
    };
    const used = engine.bytesWritten;
    const isOne = compression === 'zlib' || bufferOf(bytes).readUInt32LE(bytes.length - 4) === buffer.length;
    if (used === bytes.length && isOne) return buffer;
  } catch (error) {
    if (error instanceof RangeError) {
      const message = `the compressed file expands to more than ${most} bytes`;
      throw new FormatError('container_limit_exceeded', message);
    }
    if (!(error instanceof Error) || !('errno' in error)) throw error;
    throw new FormatError('compression_invalid', `the compressed data is damaged: ${error.message}`);
  }
  throw new FormatError('compression_invalid', 'bytes follow the compressed file, or it is one of several');
}

/**
 * Compresses a file as the official one is: with its header, which has a name and a time, or its window and level. The same
 * file gives the same bytes with the same version of zlib.
 *
 * @param official a compressed file that {@link decompress} reads
 * @throws FormatError `compression_invalid` when its header is cut
 */
export function compressLike(
  official: Uint8Array,
  compression: Compression,
  content: Uint8Array,
  { ratio }: ReadLimits,
): Buffer {
  const header = compressedHeader(official, compression);
  if (compression === 'zlib') {
    const [method = 0, flags = 0] = official;
    const options = {
      // The level in the header is only a hint; 0x01, 0x5E, 0x9C and 0xDA stand for 1, 5, 6 and 9.
      level: [1, 5, 6, BEST][flags >> 6] ?? constants.Z_DEFAULT_COMPRESSION,
      // Clients allocate no more than the window of the header. One of 256 bytes is enough for what zlib writes with 512.
      windowBits: Math.max(MIN_WINDOW_BITS, (method >> 4) + 8),
    };
    const made = deflateWithin(ratio, content, (strategy) => deflateSync(content, { ...options, strategy }));
    return Buffer.concat([header, made.subarray(ZLIB_HEADER)]);
  }
  const trailer = Buffer.alloc(GZIP.trailer);
  trailer.writeUInt32LE(crc32(content), 0);
  trailer.writeUInt32LE(content.length % 2 ** 32, 4);
  const data = deflateWithin(ratio, content, (strategy) =>
    deflateRawSync(content, { level: BEST, strategy }),
  );
  return Buffer.concat([header, data, trailer]);
}

/** Readers refuse a ratio that only a bomb has, so a content with a long repetition is compressed less. */
export function deflateWithin(
  ratio: number,
  content: Uint8Array,
  deflate: (strategy: number) => Buffer,
): Buffer {
  const data = deflate(constants.Z_DEFAULT_STRATEGY);
  return content.length <= data.length * ratio ? data : deflate(constants.Z_HUFFMAN_ONLY);
}

/** The header of a compressed file: everything in front of its compressed data. @throws FormatError `compression_invalid` */
export function compressedHeader(official: Uint8Array, compression: Compression): Buffer {
  return compression === 'gzip' ? gzipHeader(official) : bufferOf(official).subarray(0, ZLIB_HEADER);
}

function gzipHeader(official: Uint8Array): Buffer {
  const bytes = bufferOf(official);
  const flags = bytes[GZIP.flagsAt] ?? 0;
  let end: number = GZIP.header;
  if ((flags & GZIP.extra) !== 0 && end + 2 <= bytes.length) end += 2 + bytes.readUInt16LE(end);
  for (const flag of [GZIP.name, GZIP.comment]) {
    if ((flags & flag) === 0) continue;
    const zero = bytes.indexOf(0, end);
    end = zero === -1 ? bytes.length + 1 : zero + 1;
  }
  if ((flags & GZIP.headerCrc) !== 0) end += 2;
  if (end > bytes.length) throw new FormatError('compression_invalid', 'the header is cut');
  return bytes.subarray(0, end);
}

/** Whether bytes begin a zlib stream: its header is weak, so that the beginning is decompressed. */
export function beginsZlib(head: Uint8Array): boolean {
  const [method = 0, flags = 0] = head;
  const isHeader = (method & 0x0f) === 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 === 0;
  if (!isHeader || (flags & 0x20) !== 0 || head.length < 8) return false;
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 64 * head.length * 1024 };
    return inflateSync(head, options).length > 0;
  } catch {
    return false;
  }
}
