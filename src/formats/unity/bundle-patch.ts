import type { ByteSource } from '../byte-source.ts';
import { FormatError } from '../format-error.ts';
import { type OutputPiece, pieceChunks } from '../patch/output-pieces.ts';
import { type Splice, type SplicedSource, spliceSource } from '../patch/spliced-source.ts';
import { BLOCK_COMPRESSION, compressLz4, METHOD_BITS } from './block-compression.ts';
import {
  type Bundle,
  type BundleNode,
  BLOCK_ENTRY_BYTES,
  INFO_HASH_BYTES,
  START_ALIGNMENT,
} from './bundle.ts';
import { SHIFT_UNIT } from './splice-serialized-file.ts';
import type { BundleBlock } from './block-source.ts';

interface PlannedBlock {
  readonly start: number;
  readonly size: number;
  /** The block of the old bundle that is copied as it stands; `null`: a new one. */
  readonly copied: BundleBlock | null;
}

/** Bytes of a block before compression, as Unity writes them; a build script can choose another size. */
const USUAL_BYTES = 128 * 1024;
const CHOSEN_BYTES = { least: 4 * 1024, most: 1024 * 1024 };

/**
 * Divides the new data of a bundle into blocks that all have one size but the last, as Unity divides it. An old block is
 * copied where the same bytes are a block again, unless it is LZMA, which is never written.
 */
function planBlocks(blocks: readonly BundleBlock[], data: SplicedSource): PlannedBlock[] {
  const blockBytes = blockBytesOf(blocks);
  const copied = copiedBlocks(blocks, data, blockBytes);
  const planned: PlannedBlock[] = [];
  for (let start = 0; start < data.size; start += blockBytes) {
    const size = Math.min(blockBytes, data.size - start);
    planned.push({ start, size, copied: copied.get(start) ?? null });
  }
  return planned;
}

/** The size of the blocks of a bundle where all but the last have one; otherwise the usual one. */
function blockBytesOf(blocks: readonly BundleBlock[]): number {
  const size = blocks[0]?.size ?? 0;
  const isChosen = blocks.length > 1 && size >= CHOSEN_BYTES.least && size <= CHOSEN_BYTES.most;
  const isRegular = blocks.every((block, index) =>
    index < blocks.length - 1 ? block.size === size : block.size <= size,
  );
  return isChosen && isRegular ? size : USUAL_BYTES;
}

/** The old blocks that the new data has too, by their new positions. */
function copiedBlocks(
  blocks: readonly BundleBlock[],
  data: SplicedSource,
  blockBytes: number,
): ReadonlyMap<number, BundleBlock> {
  const copied = new Map<number, BundleBlock>();
  let next = 0;
  for (const { from, to, length } of data.keptRanges()) {
    while (next < blocks.length && (blocks[next]?.start ?? 0) < from) next += 1;
    for (let block = blocks[next]; block !== undefined; block = blocks[next]) {
      if (block.start + block.size > from + length) break;
      next += 1;
      const start = to + block.start - from;
      const isWhole = block.size === blockBytes || start + block.size === data.size;
      if (start % blockBytes === 0 && isWhole && isCopyable(block)) copied.set(start, block);
    }
  }
  return copied;
}

function isCopyable({ flags, size }: BundleBlock): boolean {
  return size > 0 && (flags & METHOD_BITS) !== BLOCK_COMPRESSION.lzma;
}

/** A bundle with changed files, ready to be written. */
export interface BundlePatch {
  readonly size: number;
  /** The bytes of the bundle in their order. It can be read several times. */
  chunks(): Generator<Buffer>;
}

type ChangedNodes = ReadonlyMap<BundleNode, SplicedSource>;

/** With fewer blocks behind a file, it does not grow for them. */
const FEWEST_COPIED_BLOCKS = 4;
const LZ4_METHODS: ReadonlySet<number> = new Set([BLOCK_COMPRESSION.lz4, BLOCK_COMPRESSION.lz4hc]);
/** Blocks beyond these compressed bytes are compressed twice, so that memory stays bounded. */
const KEPT_BYTES = 32 * 1024 * 1024;

/**
 * Changes files of a bundle. The new blocks are LZ4, or stored where the whole old bundle is; blocks without a change are
 * copied as they stand. The same input gives the same bytes.
 *
 * The data is read and compressed here, because the sizes of the blocks stand in front of them.
 *
 * @param keptBytes compressed bytes that are kept until they are written
 * @throws FormatError `bundle_invalid` when files overlap, or `block_decompress_failed`
 */
export function patchBundle(
  source: ByteSource,
  bundle: Bundle,
  changes: ChangedNodes,
  { keptBytes = KEPT_BYTES }: { readonly keptBytes?: number } = {},
): BundlePatch {
  const { splices, nodes } = moveNodes(bundle, changes);
  const data = spliceSource(bundle.data, splices);
  const packer = createPacker(bundle, data, keptBytes);
  const blocks = planBlocks(bundle.blocks, data).map((block) => packer.pack(block));
  const head = writeBundleHead(source, bundle, { nodes, blocks });
  const behind = { offset: bundle.header.fileSize, end: source.size };
  return {
    size: head.fileSize + behind.end - behind.offset,
    *chunks() {
      yield head.front;
      yield* blockChunks(source, blocks, (block) => packer.bytesOf(block));
      yield head.back;
      yield* pieceChunks([pieceOf(source, behind)]);
    },
  };
}

/**
 * The unit by which a file of a bundle should grow. Blocks of LZ4 have one size, so those behind the file can be copied only
 * when they move by a multiple of it. The zeros at the end of the file that this costs compress to almost nothing.
 */
export function sizeUnitOf({ blocks, data }: Bundle, { offset, size }: BundleNode): number {
  const unit = blockBytesOf(blocks);
  const isCopied = data.size - offset - size >= FEWEST_COPIED_BLOCKS * unit;
  const isLz4 = blocks.some(({ flags }) => LZ4_METHODS.has(flags & METHOD_BITS));
  return isCopied && isLz4 && unit % SHIFT_UNIT === 0 ? unit : SHIFT_UNIT;
}

/** Where the files are in the new data, and what changes in the old data. */
function moveNodes(
  { nodes, header }: Bundle,
  changes: ChangedNodes,
): { readonly splices: Splice[]; readonly nodes: MovedNode[] } {
  const splices: Splice[] = [];
  const moved: MovedNode[] = [];
  let shift = 0;
  let end = 0;
  for (const node of nodes.toSorted((left, right) => left.offset - right.offset || left.size - right.size)) {
    if (node.offset < end && node.size > 0) {
      const name = JSON.stringify(node.name);
      throw new FormatError('bundle_invalid', `the file ${name} overlaps another one`, header.headerBytes);
    }
    end = Math.max(end, node.offset + node.size);
    const changed = changes.get(node);
    moved.push({ node, offset: node.offset + shift, size: changed?.size ?? node.size });
    if (changed === undefined) continue;
    for (const splice of changed.splices) splices.push({ ...splice, offset: node.offset + splice.offset });
    shift += changed.size - node.size;
  }
  return { splices, nodes: moved };
}

interface PackedBlock extends WrittenBlock {
  readonly plan: PlannedBlock;
  /** `null`: compressed again when it is written, or copied. */
  readonly kept: Buffer | null;
}

function createPacker(
  bundle: Bundle,
  data: ByteSource,
  mostKept: number,
): {
  pack(plan: PlannedBlock): PackedBlock;
  bytesOf(block: PackedBlock): Buffer;
} {
  const method = methodOf(bundle.blocks);
  let kept = 0;
  const compress = (bytes: Buffer): { readonly compressed: Buffer; readonly flags: number } => {
    if (method === BLOCK_COMPRESSION.none) return { compressed: bytes, flags: BLOCK_COMPRESSION.none };
    const compressed = compressLz4(bytes);
    if (compressed.length < bytes.length) return { compressed, flags: method };
    return { compressed: bytes, flags: BLOCK_COMPRESSION.none };
  };
  return {
    pack: (plan) => {
      const { start, size, copied } = plan;
      if (copied !== null) return { ...copied, size, plan, kept: null };
      const { compressed, flags } = compress(data.read(start, size));
      const isKept = kept + compressed.length <= mostKept;
      if (isKept) kept += compressed.length;
      return { size, compressedSize: compressed.length, flags, plan, kept: isKept ? compressed : null };
    },
    bytesOf: ({ plan, kept: found }) => found ?? compress(data.read(plan.start, plan.size)).compressed,
  };
}

/** How new blocks are compressed: LZ4 with the number that the bundle uses for it, or not at all as the bundle itself. */
function methodOf(blocks: Bundle['blocks']): number {
  const methods = new Set(blocks.map(({ flags }) => flags & METHOD_BITS));
  if (methods.has(BLOCK_COMPRESSION.lz4hc)) return BLOCK_COMPRESSION.lz4hc;
  const isStored = methods.size === 1 && methods.has(BLOCK_COMPRESSION.none);
  return isStored ? BLOCK_COMPRESSION.none : BLOCK_COMPRESSION.lz4;
}

/** The blocks in their order; neighbours in the old bundle are copied together. */
function* blockChunks(
  source: ByteSource,
  blocks: readonly PackedBlock[],
  bytesOf: (block: PackedBlock) => Buffer,
): Generator<Buffer> {
  let run = { offset: 0, end: 0 };
  for (const block of blocks) {
    const { copied } = block.plan;
    if (copied !== null && copied.offset === run.end) {
      run.end += copied.compressedSize;
      continue;
    }
    yield* pieceChunks([pieceOf(source, run)]);
    run = { offset: 0, end: 0 };
    if (copied === null) yield bytesOf(block);
    else run = { offset: copied.offset, end: copied.offset + copied.compressedSize };
  }
  yield* pieceChunks([pieceOf(source, run)]);
}

function pieceOf(
  source: ByteSource,
  { offset, end }: { readonly offset: number; readonly end: number },
): OutputPiece {
  return { source, offset, length: end - offset };
}

interface WrittenBlock {
  readonly size: number;
  readonly compressedSize: number;
  readonly flags: number;
}

interface MovedNode {
  readonly node: BundleNode;
  readonly offset: number;
  readonly size: number;
}

interface BundleHead {
  /** The header, and the directory unless it is at the end. */
  readonly front: Buffer;
  readonly back: Buffer;
  readonly fileSize: number;
}

/**
 * Writes the header and the directory of a changed bundle. Everything but sizes, positions and the table of blocks is
 * copied. The hash over the data becomes zero, as other tools write it: Unity does not check it.
 */
function writeBundleHead(
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
