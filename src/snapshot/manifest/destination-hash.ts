// FNV-1a over the UTF-8 bytes, then the finalizer of MurmurHash3, because FNV's low bits alone are weak for a mask.
const FNV_PRIME = 0x0100_0193;

/** Seeds are integers from 1 to one less than this. */
export const HASH_SEEDS = 2 ** 32 - 1;

/** Hash of `bytes[start, end)` under a seed: an unsigned 32-bit number. */
export function hashBytes(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed;
  for (let i = start; i < end; i += 1) hash = Math.imul(hash ^ (bytes[i] ?? 0), FNV_PRIME);
  return finalize(hash);
}

/** The result of {@link hashBytes} for the bytes of ASCII text, without encoding it; -1 if the text is not ASCII. */
export function hashText(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return -1;
    hash = Math.imul(hash ^ unit, FNV_PRIME);
  }
  return finalize(hash);
}

/** The slot of a hash in a table of this many slots; every slot is equally likely, for any number of slots. */
export function slotOf(hash: number, slots: number): number {
  return Math.floor((hash / 0x1_0000_0000) * slots);
}

function finalize(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85eb_ca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
