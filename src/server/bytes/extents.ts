import { blockBytesOf } from '../../domain/release/blocks.ts';

/** Bytes of an extent: the largest read of the byte path, and what the block cache keeps as one. It holds whole blocks. */
export const EXTENT_BYTES = 1024 * 1024;

/** The bytes `[start, end)` of an object. */
export interface ObjectSpan {
  readonly start: number;
  readonly end: number;
}

/** The extent that holds byte `position`. */
export function extentOf(position: number): number {
  return Math.floor(position / EXTENT_BYTES);
}

/** The bytes that extent `index` of an object of `size` bytes covers. */
export function extentSpan(index: number, size: number): ObjectSpan {
  const start = index * EXTENT_BYTES;
  return { start, end: Math.min(start + EXTENT_BYTES, size) };
}

/** The whole blocks of an object of `size` bytes that hold a span. */
export function blocksAround({ start, end }: ObjectSpan, size: number): ObjectSpan {
  const bytes = blockBytesOf(size);
  return { start: start - (start % bytes), end: Math.min(Math.ceil(end / bytes) * bytes, size) };
}
