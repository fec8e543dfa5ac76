const PREFIX = 'tu1_';
/** RFC 4648 section 6, in lower case. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** The unit id as reports show it: a prefix and the 16 bytes in base32 without padding, 26 characters. */
export function unitIdText(bytes: Uint8Array): string {
  let text = PREFIX;
  let [bits, held] = [0, 0];
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += ALPHABET[(held >>> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31];
}
