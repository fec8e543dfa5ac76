import type { SplicedSource } from '../patch/spliced-source.ts';
import { BLOCK_COMPRESSION, METHOD_BITS } from './block-compression.ts';
import type { BundleBlock } from './block-source.ts';

/** A block of a bundle that is to be written. */
export interface PlannedBlock {
  /** Position of its first byte in the new data. */
  readonly start: number;
  /** Bytes before compression. */
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
 *
 * @param blocks of the old data, in their order
 * @param data the old data with its changes
 */
export function planBlocks(blocks: readonly BundleBlock[], data: SplicedSource): PlannedBlock[] {
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
export function blockBytesOf(blocks: readonly BundleBlock[]): number {
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
