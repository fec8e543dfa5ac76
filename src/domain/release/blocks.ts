/**
 * Bytes of a block, the unit of verification of a large object. Smaller blocks would make a read of a small range cheaper,
 * but hashing slower: in blocks of 64 KiB it takes a fifth longer than in blocks of 1 MiB, in blocks of 16 KiB two thirds.
 */
export const BLOCK_BYTES = 64 * 1024;

/**
 * Size of the largest object without a block list, in bytes. It is a single block: hashing all of it for any range takes a
 * fifth of a millisecond. Larger objects have a list of the digests of their blocks.
 */
export const SINGLE_BLOCK_MAX_BYTES = 1024 * 1024;

/** Bytes of one digest in a block list. */
export const BLOCK_DIGEST_BYTES = 32;

/** Whether an object of this size has a block list. */
export function hasBlockList(size: number): boolean {
  return size > SINGLE_BLOCK_MAX_BYTES;
}

/** Bytes of every block but the last of an object of `size` bytes. */
export function blockBytesOf(size: number): number {
  return hasBlockList(size) ? BLOCK_BYTES : SINGLE_BLOCK_MAX_BYTES;
}

/** How many blocks an object of `size` bytes has; an empty object has one empty block. */
export function blockCount(size: number): number {
  return Math.max(1, Math.ceil(size / blockBytesOf(size)));
}
