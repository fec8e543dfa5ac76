/** RFC 4648 section 6, in lower case. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** Bytes as text in base32, in lower case and without padding. */
export function base32(bytes: Uint8Array): string {
  let text = '';
  let [bits, held] = [0, 0];
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += ALPHABET[(held >>> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31];
}
