/** Bytes of a mebibyte. */
export const MEBIBYTE = 1024 * 1024;

/** Free bytes below which a volume counts as full. */
export const SPACE_GONE_BYTES = 64 * MEBIBYTE;

/** Whole mebibytes. */
export function toMebibytes(bytes: number): number {
  return Math.floor(bytes / MEBIBYTE);
}
