/** Objects larger than this carry a block list, so that any range can be verified without reading the whole object. */
export const BLOCK_SIZE = 1024 * 1024;

/** Bytes of one digest in a block list. */
export const BLOCK_DIGEST_BYTES = 32;

/** Whether an object of this size carries a block list. */
export function hasBlockList(size: number): boolean {
  return size > BLOCK_SIZE;
}

/** How many blocks an object of `size` bytes has; an empty object has one empty block. */
export function blockCount(size: number): number {
  return Math.max(1, Math.ceil(size / BLOCK_SIZE));
}

/** The bytes `[start, end)` that block `index` of an object of `size` bytes covers. */
export function blockSpan(index: number, size: number): { readonly start: number; readonly end: number } {
  const start = index * BLOCK_SIZE;
  return { start, end: Math.min(start + BLOCK_SIZE, size) };
}

/** The block that holds byte `position`. */
export function blockOf(position: number): number {
  return Math.floor(position / BLOCK_SIZE);
}
