import type { ByteSource } from '../byte-source.ts';
import { BLOCK_COMPRESSION, compressLz4, METHOD_BITS } from './block-compression.ts';
import {
  BLOCK_ENTRY_BYTES,
  type Bundle,
  type BundleNode,
  INFO_HASH_BYTES,
  START_ALIGNMENT,
} from './bundle.ts';

export interface WrittenBlock {
  readonly size: number;
  readonly compressedSize: number;
  readonly flags: number;
}

export interface MovedNode {
  readonly node: BundleNode;
  readonly offset: number;
  readonly size: number;
}

interface BundleHead {
  /** The header, and the directory where it does not stand at the end. */
  readonly front: Buffer;
  readonly back: Buffer;
  readonly fileSize: number;
}

/**
 * Writes the header and the directory of a changed bundle. Everything but sizes, positions and the table of blocks is
 * copied. The hash over the data becomes zero, as other tools write it: Unity does not check it.
 */
export function writeBundleHead(
  source: ByteSource,
  bundle: Bundle,
  { nodes, blocks }: { readonly nodes: readonly MovedNode[]; readonly blocks: readonly WrittenBlock[] },
): BundleHead {
  const { header } = bundle;
  const info = writeInfo(bundle, nodes, blocks);
  const method = infoMethod(header.flags);
  const compressed = method === BLOCK_COMPRESSION.none ? info : compressLz4(info);
  const fields = Buffer.from(source.read(0, header.headerBytes));
  const front = header.infoAtEnd ? [fields] : [fields, compressed];
  const frontBytes = front.reduce((sum, { length }) => sum + length, 0);
  if (header.paddedStart) {
    front.push(Buffer.alloc(Math.ceil(frontBytes / START_ALIGNMENT) * START_ALIGNMENT - frontBytes));
  }
  const joined = Buffer.concat(front);
  const back = header.infoAtEnd ? compressed : Buffer.alloc(0);
  const fileSize =
    blocks.reduce((sum, { compressedSize }) => sum + compressedSize, 0) + joined.length + back.length;
  const at = header.sizeOffset;
  joined.writeBigInt64BE(BigInt(fileSize), at);
  joined.writeUInt32BE(compressed.length, at + 8);
  joined.writeUInt32BE(info.length, at + 12);
  joined.writeUInt32BE((header.flags & ~METHOD_BITS) | method, at + 16);
  return { front: joined, back, fileSize };
}

/** The compression of the directory: the old one, or LZ4 in place of LZMA. */
function infoMethod(flags: number): number {
  const method = flags & METHOD_BITS;
  return method === BLOCK_COMPRESSION.lzma ? BLOCK_COMPRESSION.lz4 : method;
}

function writeInfo(
  { info, nodesOffset }: Bundle,
  nodes: readonly MovedNode[],
  blocks: readonly WrittenBlock[],
): Buffer {
  const count = Buffer.alloc(INFO_HASH_BYTES + 4);
  count.writeUInt32BE(blocks.length, INFO_HASH_BYTES);
  const table = Buffer.alloc(blocks.length * BLOCK_ENTRY_BYTES);
  for (const [index, { size, compressedSize, flags }] of blocks.entries()) {
    const at = index * BLOCK_ENTRY_BYTES;
    table.writeUInt32BE(size, at);
    table.writeUInt32BE(compressedSize, at + 4);
    table.writeUInt16BE(flags, at + 8);
  }
  const rest = Buffer.from(info.subarray(nodesOffset));
  for (const { node, offset, size } of nodes) {
    const at = node.entryOffset - nodesOffset;
    rest.writeBigInt64BE(BigInt(offset), at);
    rest.writeBigInt64BE(BigInt(size), at + 8);
  }
  return Buffer.concat([count, table, rest]);
}
