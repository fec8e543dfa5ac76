import { sliceSource, type ByteSource } from '../byte-source.ts';
import { FormatError } from '../format-error.ts';
import type { ReadLimits } from '../value-visitor.ts';
import { decompressBlock } from './block-compression.ts';
import { type BundleBlock, createBlockSource } from './block-source.ts';
import { type BundleHeader, readBundleHeader } from './bundle-header.ts';
import { MetadataCursor } from './metadata-cursor.ts';

export interface BundleNode {
  readonly name: string;
  /** Position in the decompressed data of the bundle. */
  readonly offset: number;
  readonly size: number;
  /** 4: a serialized file. */
  readonly flags: number;
  /** Position of its entry in the directory: offset, then size. A writer changes these two. */
  readonly entryOffset: number;
}

export interface Bundle {
  readonly header: BundleHeader;
  /** The compressed blocks in their order; `offset` is a position in the file. */
  readonly blocks: readonly BundleBlock[];
  readonly nodes: readonly BundleNode[];
  readonly info: Buffer;
  readonly nodesOffset: number;
  /** The decompressed data, in which the nodes are. */
  readonly data: ByteSource;
  /** The bytes of a node. Blocks are decompressed when they are read, and some are kept. */
  open(node: BundleNode): ByteSource;
}

/** 16 bytes of a hash over the data stand in front of the tables, and may be zero. */
export const INFO_HASH_BYTES = 16;
/** Two sizes of 32 bits and the flags. */
export const BLOCK_ENTRY_BYTES = 10;
/** Two sizes of 64 bits, flags and the end of an empty name. */
const SMALLEST_NODE_ENTRY = 21;
/** The start of the data after a directory, where the header says that it is padded. */
export const START_ALIGNMENT = 16;
/** Compression, "streamed". Other bits are set where a vendor encrypts single blocks. */
const KNOWN_BLOCK_FLAGS = 0x7f;
/** A ratio says nothing about so few bytes. */
const RATIO_FREE_BYTES = 1024 * 1024;

/**
 * Opens a UnityFS bundle of version 6 to 8.
 *
 * @throws FormatError `bundle_signature_unsupported`, `bundle_encrypted`, `bundle_invalid`, `block_decompress_failed` or
 *   `container_limit_exceeded`
 */
export function openBundle(source: ByteSource, limits: ReadLimits): Bundle {
  const header = readBundleHeader(source);
  const infoOffset = header.infoAtEnd ? header.fileSize - header.infoCompressedBytes : header.headerBytes;
  if (infoOffset < header.headerBytes || infoOffset + header.infoCompressedBytes > header.fileSize) {
    throw new FormatError('bundle_invalid', 'the directory does not fit into the file', infoOffset);
  }
  checkRatio(header.infoCompressedBytes, header.infoBytes, limits, infoOffset);
  if (header.infoBytes > limits.entryBytes) {
    throw tooLarge(`the directory has ${header.infoBytes} bytes`, infoOffset);
  }
  const info = decompressBlock(
    source.read(infoOffset, header.infoCompressedBytes),
    header.flags,
    header.infoBytes,
    infoOffset,
  );
  const cursor = new MetadataCursor(info, 'bundle_invalid');
  cursor.bytes(INFO_HASH_BYTES);
  const blocks = readBlocks(cursor, header, limits);
  const nodesOffset = cursor.position;
  const last = blocks.at(-1);
  const nodes = readNodes(cursor, last === undefined ? 0 : last.start + last.size, limits);
  const data = createBlockSource(source, blocks, limits.cacheBytes);
  return {
    header,
    blocks,
    nodes,
    info,
    nodesOffset,
    data,
    open: ({ offset, size }) => sliceSource(data, offset, size),
  };
}

function readBlocks(cursor: MetadataCursor, header: BundleHeader, limits: ReadLimits): BundleBlock[] {
  const count = cursor.count(BLOCK_ENTRY_BYTES, limits.elements);
  const blocks: BundleBlock[] = [];
  let offset = header.headerBytes + (header.infoAtEnd ? 0 : header.infoCompressedBytes);
  if (header.paddedStart) offset = Math.ceil(offset / START_ALIGNMENT) * START_ALIGNMENT;
  const first = offset;
  const end = header.fileSize - (header.infoAtEnd ? header.infoCompressedBytes : 0);
  let start = 0;
  for (let index = 0; index < count; index += 1) {
    const at = cursor.position;
    const size = cursor.uint32();
    const compressedSize = cursor.uint32();
    const flags = cursor.uint16();
    if ((flags & ~KNOWN_BLOCK_FLAGS) !== 0) {
      throw new FormatError('bundle_encrypted', `block ${index} has the unknown flags ${flags}`, at);
    }
    if (offset + compressedSize > end) {
      throw cursor.fail(`block ${index} of ${compressedSize} bytes does not fit into the file`, at);
    }
    if (size > limits.entryBytes) throw tooLarge(`block ${index} has ${size} bytes`, offset);
    blocks.push({ offset, compressedSize, start, size, flags });
    offset += compressedSize;
    start += size;
  }
  checkRatio(offset - first, start, limits, first);
  return blocks;
}

function readNodes(cursor: MetadataCursor, dataBytes: number, limits: ReadLimits): BundleNode[] {
  const count = cursor.count(SMALLEST_NODE_ENTRY, limits.elements);
  const nodes: BundleNode[] = [];
  let total = 0;
  for (let index = 0; index < count; index += 1) {
    const at = cursor.position;
    const offset = cursor.size64();
    const size = cursor.size64();
    const flags = cursor.uint32();
    const name = cursor.terminatedString();
    total += size;
    // Nodes never overlap, so all of them together are not larger than the data.
    if (offset + size > dataBytes || total > dataBytes) {
      throw cursor.fail(`the node ${JSON.stringify(name)} does not fit into the data`, at);
    }
    nodes.push({ name, offset, size, flags, entryOffset: at });
  }
  return nodes;
}

function checkRatio(compressed: number, size: number, limits: ReadLimits, offset: number): void {
  if (size <= Math.max(RATIO_FREE_BYTES, compressed * limits.ratio)) return;
  throw tooLarge(`${compressed} compressed bytes claim to be ${size} bytes`, offset);
}

function tooLarge(message: string, offset: number): FormatError {
  return new FormatError('container_limit_exceeded', message, offset);
}
