import type { ByteSource } from '../byte-source.ts';
import { decompressBlock } from './block-compression.ts';

export interface BundleBlock {
  readonly offset: number;
  readonly compressedSize: number;
  /** Position of its first byte in the decompressed data. */
  readonly start: number;
  /** Bytes after decompression. */
  readonly size: number;
  readonly flags: number;
}

/**
 * The decompressed data of a bundle. Each block is decompressed when it is read; the ones that were used last are kept.
 *
 * @param blocks in the order of their data, without gaps
 * @param cacheBytes decompressed bytes to keep, beside the block in use
 */
export function createBlockSource(
  source: ByteSource,
  blocks: readonly BundleBlock[],
  cacheBytes: number,
): ByteSource {
  const kept = new Map<number, Buffer>();
  let keptBytes = 0;
  const open = (index: number, block: BundleBlock): Buffer => {
    const found = kept.get(index);
    if (found !== undefined) {
      kept.delete(index);
      kept.set(index, found);
      return found;
    }
    for (const [old, bytes] of kept) {
      if (keptBytes + block.size <= cacheBytes) break;
      kept.delete(old);
      keptBytes -= bytes.length;
    }
    const compressed = source.read(block.offset, block.compressedSize);
    const bytes = decompressBlock(compressed, block.flags, block.size, block.offset);
    kept.set(index, bytes);
    keptBytes += bytes.length;
    return bytes;
  };
  const last = blocks.at(-1);
  return {
    size: last === undefined ? 0 : last.start + last.size,
    read: (offset, length) => {
      if (length === 0) return Buffer.alloc(0);
      const parts: Buffer[] = [];
      let missing = length;
      for (let index = blockAt(blocks, offset); missing > 0; index += 1) {
        const block = blocks[index];
        if (block === undefined) throw new RangeError(`the data ends before byte ${offset + length}`);
        const from = offset + length - missing - block.start;
        const part = open(index, block).subarray(from, from + missing);
        parts.push(part);
        missing -= part.length;
      }
      const [first] = parts;
      return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts, length);
    },
  };
}

function blockAt(blocks: readonly BundleBlock[], position: number): number {
  let low = 0;
  let high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((blocks[middle]?.start ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
