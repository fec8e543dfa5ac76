import { base32 } from '../../../platform/hashing/base32.ts';

const PREFIX = 'tu1_';

/** The unit id as reports show it: a prefix and the 16 bytes in base32 without padding, 26 characters. */
export function unitIdText(bytes: Uint8Array): string {
  return PREFIX + base32(bytes);
}
