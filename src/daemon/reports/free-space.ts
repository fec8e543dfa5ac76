/** Bytes of a mebibyte. */
export const MEBIBYTE = 1024 * 1024;

/** Free bytes below which a volume counts as full. */
export const SPACE_GONE_BYTES = 64 * MEBIBYTE;
/** Free bytes from which a volume that was full no longer counts as full: a value at one limit would change the state each second. */
export const SPACE_BACK_BYTES = 80 * MEBIBYTE;
