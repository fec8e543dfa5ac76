import { base32 } from '../platform/hashing/base32.ts';

const PREFIX = 'tu1_';

/** The unit id as reports show it: a prefix and the 16 bytes in base32 without padding, 26 characters. */
export function unitIdText(bytes: Uint8Array): string {
  return PREFIX + base32(bytes);
}

/** RFC 4648 section 6, in lower case. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
/** The text form of an id: the prefix and 26 digits, of which the last one has 3 bits only. */
const UNIT_ID = /^tu1_[a-z2-7]{25}[aeimquy4]$/;

/** The bytes of a unit id as reports show it, or `null` for a text that is none. */
export function unitIdBytes(text: string): Uint8Array | null {
  if (!UNIT_ID.test(text)) return null;
  const bytes = new Uint8Array(16);
  let [bits, held, at] = [0, 0, 0];
  for (const digit of text.slice(PREFIX.length)) {
    held = ((held << 5) | ALPHABET.indexOf(digit)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at] = (held >>> bits) & 0xff;
    at += 1;
  }
  return bytes;
}
