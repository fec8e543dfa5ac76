import { lzma } from '@napi-rs/lzma';
import { compressSync } from 'lz4-napi';
import { ByteWriter } from './byte-writer.ts';

/** How a bundle is written. */
export interface BundleOptions {
  /** 6 to 8. */
  readonly version?: number;
  readonly engineVersion?: string;
  /** LZ4HC is LZ4 with another flag. */
  readonly compression?: BundleCompression;
  /** The directory follows the data. */
  readonly infoAtEnd?: boolean;
  /** The data begins at a multiple of 16. */
  readonly paddedStart?: boolean;
  /** Bytes of a block before compression; LZMA has a single one. */
  readonly blockBytes?: number;
}

type BundleCompression = 'none' | 'lzma' | 'lz4' | 'lz4hc';

interface BundleFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** 4: a serialized file. */
  readonly flags?: number;
}

const METHODS: readonly BundleCompression[] = ['none', 'lzma', 'lz4', 'lz4hc'];
const COMBINED = 0x40;
const INFO_AT_END = 0x80;
const PADDED_START = 0x200;
const SERIALIZED_FILE = 4;
const BLOCK_BYTES = 128 * 1024;
/** Size, sizes of the directory, flags. */
const FIXED_HEADER_BYTES = 20;
const ALIGNED_FROM = 7;
const ALIGNMENT = 16;
const LZ4_SIZE_BYTES = 4;
const LZMA_PROPERTY_BYTES = 5;
const LZMA_HEADER_BYTES = 13;

/** Writes a UnityFS bundle. The same files give the same bytes. */
export function writeBundle(files: readonly BundleFile[], options: BundleOptions = {}): Buffer {
  const { version = 7, compression = 'lz4', infoAtEnd = false, paddedStart = false } = options;
  const data = Buffer.concat(files.map(({ bytes }) => bytes));
  const blocks = blocksOf(data, options);
  const info = writeInfo(files, blocks, compression);
  // Unity compresses the directory by LZ4 even where the data is LZMA.
  const infoCompression = compression === 'none' ? 'none' : 'lz4hc';
  const compressedInfo = compress(info, infoCompression);
  const flags =
    METHODS.indexOf(infoCompression) |
    COMBINED |
    (infoAtEnd ? INFO_AT_END : 0) |
    (paddedStart ? PADDED_START : 0);
  const writer = new ByteWriter();
  writer.terminatedString('UnityFS');
  writer.integer(version, 4);
  writer.terminatedString('5.x.x');
  writer.terminatedString(options.engineVersion ?? '2022.3.10f1');
  const alignHeader = (): void => writer.align(version >= ALIGNED_FROM ? ALIGNMENT : 1);
  const headerBytes = alignedSize(writer.length + FIXED_HEADER_BYTES, version >= ALIGNED_FROM);
  const dataStart = alignedSize(headerBytes + (infoAtEnd ? 0 : compressedInfo.length), paddedStart);
  const dataBytes = blocks.reduce((sum, { bytes }) => sum + bytes.length, 0);
  writer.integer(dataStart + dataBytes + (infoAtEnd ? compressedInfo.length : 0), 8);
  writer.integer(compressedInfo.length, 4);
  writer.integer(info.length, 4);
  writer.integer(flags, 4);
  alignHeader();
  if (!infoAtEnd) writer.bytes(compressedInfo);
  if (paddedStart) writer.align(ALIGNMENT);
  for (const { bytes } of blocks) writer.bytes(bytes);
  if (infoAtEnd) writer.bytes(compressedInfo);
  return writer.result();
}

interface Block {
  readonly size: number;
  readonly bytes: Buffer;
}

function blocksOf(data: Buffer, { compression = 'lz4', blockBytes = BLOCK_BYTES }: BundleOptions): Block[] {
  const step = compression === 'lzma' ? Math.max(1, data.length) : blockBytes;
  const blocks: Block[] = [];
  for (let start = 0; start < data.length; start += step) {
    const part = data.subarray(start, start + step);
    blocks.push({ size: part.length, bytes: compress(part, compression) });
  }
  return blocks;
}

function writeInfo(
  files: readonly BundleFile[],
  blocks: readonly Block[],
  compression: BundleCompression,
): Buffer {
  const writer = new ByteWriter();
  writer.bytes(Buffer.alloc(16)); // A hash over the data, which may be zero.
  writer.integer(blocks.length, 4);
  for (const { size, bytes } of blocks) {
    writer.integer(size, 4);
    writer.integer(bytes.length, 4);
    writer.integer(METHODS.indexOf(compression), 2);
  }
  writer.integer(files.length, 4);
  let offset = 0;
  for (const { name, bytes, flags = SERIALIZED_FILE } of files) {
    writer.integer(offset, 8);
    writer.integer(bytes.length, 8);
    writer.integer(flags, 4);
    writer.terminatedString(name);
    offset += bytes.length;
  }
  return writer.result();
}

function compress(bytes: Buffer, compression: BundleCompression): Buffer {
  if (compression === 'none') return bytes;
  if (compression !== 'lzma') return compressSync(bytes).subarray(LZ4_SIZE_BYTES);
  const whole = lzma.compressSync(bytes);
  // Unity leaves out the size that stands behind the properties.
  return Buffer.concat([whole.subarray(0, LZMA_PROPERTY_BYTES), whole.subarray(LZMA_HEADER_BYTES)]);
}

function alignedSize(size: number, isAligned: boolean): number {
  return isAligned ? Math.ceil(size / ALIGNMENT) * ALIGNMENT : size;
}
