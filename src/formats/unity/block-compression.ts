import { lzma } from '@napi-rs/lzma';
import { compressSync, uncompressSync } from 'lz4-napi';
import { FormatError } from '../format-error.ts';

/** How a block of a bundle is compressed: the low six bits of its flags. */
export const BLOCK_COMPRESSION = { none: 0, lzma: 1, lz4: 2, lz4hc: 3 } as const;

/** The bits of flags that say the compression; those of the bundle say that of its directory. */
export const METHOD_BITS = 0x3f;
/** Unity stores these in front of an LZMA stream: one byte of properties and the size of the dictionary. */
const LZMA_PROPERTY_BYTES = 5;
const LZMA_HEADER_BYTES = 13;
const SMALLEST_DICTIONARY = 4096;
/** No byte of an LZ4 block makes more than 255 bytes; the rest of the margin is for its first and last tokens. */
const MOST_LZ4_RATIO = 255;
const LZ4_MARGIN = 64;
/** The library puts the size in front of what it compresses. */
const LZ4_SIZE_BYTES = 4;

/**
 * Decompresses a block.
 *
 * @param size bytes after decompression; the caller has checked that they are within its limits
 * @throws FormatError `block_decompress_failed`
 */
export function decompressBlock(compressed: Buffer, flags: number, size: number, offset: number): Buffer {
  const method = flags & METHOD_BITS;
  const fail = (why: string): FormatError => new FormatError('block_decompress_failed', why, offset);
  const decompress = METHODS.get(method);
  if (decompress === undefined) throw fail(`compression method ${method} is unknown`);
  let result: Buffer;
  try {
    result = decompress(compressed, size);
  } catch (error) {
    throw fail(`a block is damaged: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (result.length !== size) throw fail(`a block has ${result.length} bytes instead of ${size}`);
  return result;
}

/** Compresses a block by LZ4. The same bytes give the same block. */
export function compressLz4(bytes: Buffer): Buffer {
  return compressSync(bytes).subarray(LZ4_SIZE_BYTES);
}

const METHODS: ReadonlyMap<number, (compressed: Buffer, size: number) => Buffer> = new Map([
  [BLOCK_COMPRESSION.none, (stored) => stored],
  [BLOCK_COMPRESSION.lzma, decompressLzma],
  [BLOCK_COMPRESSION.lz4, decompressLz4],
  [BLOCK_COMPRESSION.lz4hc, decompressLz4],
]);

function decompressLz4(compressed: Buffer, size: number): Buffer {
  // The library allocates the claimed size before it decodes.
  if (size > compressed.length * MOST_LZ4_RATIO + LZ4_MARGIN) {
    throw new Error(`${compressed.length} bytes cannot become ${size}`);
  }
  const sized = Buffer.allocUnsafe(LZ4_SIZE_BYTES + compressed.length);
  sized.writeUInt32LE(size, 0);
  compressed.copy(sized, LZ4_SIZE_BYTES);
  return uncompressSync(sized);
}

function decompressLzma(compressed: Buffer, size: number): Buffer {
  if (compressed.length < LZMA_PROPERTY_BYTES) throw new Error('the LZMA properties are missing');
  // The library reads the header of an .lzma file, which has the size behind the properties.
  const headed = Buffer.allocUnsafe(compressed.length - LZMA_PROPERTY_BYTES + LZMA_HEADER_BYTES);
  headed.writeUInt8(compressed.readUInt8(0), 0);
  // The library allocates the dictionary, of which no more than the output is ever used.
  const dictionary = Math.min(compressed.readUInt32LE(1), Math.max(size, SMALLEST_DICTIONARY));
  headed.writeUInt32LE(dictionary, 1);
  headed.writeBigUInt64LE(BigInt(size), LZMA_PROPERTY_BYTES);
  compressed.copy(headed, LZMA_HEADER_BYTES, LZMA_PROPERTY_BYTES);
  return lzma.decompressSync(headed);
}
