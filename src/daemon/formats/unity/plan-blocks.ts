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

/** Bytes of a block before compression, as Unity writes them. */
const BLOCK_BYTES = 128 * 1024;
/**
 * Fewer bytes of old blocks are compressed again instead of copied: each run of copied blocks ends the block before it early,
 * and short blocks compress badly.
 */
const FEWEST_COPIED_BYTES = 4 * BLOCK_BYTES;

/**
 * Divides the new data of a bundle into blocks. Runs of old blocks without a change are copied, unless they are LZMA, which
 * is never written.
 *
 * @param blocks of the old data, in their order
 * @param data the old data with its changes
 */
export function planBlocks(blocks: readonly BundleBlock[], data: SplicedSource): PlannedBlock[] {
  const planned: PlannedBlock[] = [];
  let done = 0;
  const fillTo = (end: number): void => {
    for (; done < end; done += BLOCK_BYTES) {
      planned.push({ start: done, size: Math.min(BLOCK_BYTES, end - done), copied: null });
    }
    done = end;
  };
  let next = 0;
  for (const { from, to, length } of data.keptRanges()) {
    if (length < FEWEST_COPIED_BYTES) continue;
    while (next < blocks.length && (blocks[next]?.start ?? 0) < from) next += 1;
    const first = next;
    while (isCopied(blocks[next], from + length)) next += 1;
    const run = blocks.slice(first, next);
    if (run.reduce((sum, { size }) => sum + size, 0) < FEWEST_COPIED_BYTES) continue;
    for (const block of run) {
      const start = to + block.start - from;
      fillTo(start);
      planned.push({ start, size: block.size, copied: block });
      done = start + block.size;
    }
  }
  fillTo(data.size);
  return planned;
}

function isCopied(block: BundleBlock | undefined, end: number): boolean {
  if (block === undefined || block.start + block.size > end) return false;
  return (block.flags & METHOD_BITS) !== BLOCK_COMPRESSION.lzma;
}
