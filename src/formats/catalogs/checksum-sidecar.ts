import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { createXXHash128, createXXHash3, createXXHash32, createXXHash64, type IHasher } from 'hash-wasm';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import { spookyHash } from './spooky-hash.ts';

interface ChecksumForm {
  readonly name: string;
  readonly textOf: (bytes: Buffer) => string;
}

const XX_HASHES: readonly (readonly [string, IHasher])[] = [
  ['xxh32', await createXXHash32()],
  ['xxh64', await createXXHash64()],
  ['xxh3', await createXXHash3()],
  ['xxh128', await createXXHash128()],
];

/** The text of a catalog as its builder hashes it: ASCII, or UTF-16 where it holds other characters. */
function builtText(bytes: Buffer): Buffer {
  const text = bytes.toString('utf8');
  // oxlint-disable-next-line no-control-regex -- ASCII has control characters
  return /^[\x00-\x7F]*$/.test(text) ? bytes : Buffer.from(text, 'utf16le');
}

const FORMS: readonly ChecksumForm[] = [
  { name: 'crc32', textOf: (bytes) => crc32(bytes).toString(16).padStart(8, '0') },
  { name: 'crc32 as a number', textOf: (bytes) => String(crc32(bytes)) },
  ...['md5', 'sha1', 'sha256', 'sha512'].map((name) => ({
    name,
    textOf: (bytes: Buffer): string => createHash(name).update(bytes).digest('hex'),
  })),
  { name: 'spooky', textOf: (bytes) => spookyHash(bytes).toString('hex') },
  // The builder of Addressables hashes the text of a catalog.json by one of these, depending on its settings.
  {
    name: 'md5 of UTF-16',
    textOf: (bytes) => createHash('md5').update(builtText(bytes)).digest('hex'),
  },
  { name: 'spooky of UTF-16', textOf: (bytes) => spookyHash(builtText(bytes)).toString('hex') },
  { name: 'blake3', textOf: (bytes) => blake3Hex(bytes) },
  ...XX_HASHES.map(([name, hasher]) => ({
    name,
    textOf: (bytes: Buffer): string => hasher.init().update(bytes).digest('hex'),
  })),
];

/**
 * Computes again what a file beside another one says: `catalog.hash` beside `catalog.json`. The algorithm is that which gives
 * the stated checksum for the official file; upper or lower case and white space around it are kept.
 *
 * @returns `null` when no known algorithm gives the stated checksum: then nothing is guessed
 */
export function patchSidecar(
  sidecar: Uint8Array,
  before: Uint8Array,
  after: Uint8Array,
): {
  readonly bytes: Uint8Array;
  readonly algorithm: string;
} | null {
  const text = Buffer.from(sidecar).toString('latin1');
  const [, lead = '', stated = '', tail = ''] = /^(\s*)(\S*)(\s*)$/.exec(text) ?? [];
  if (stated === '') return null;
  const official = Buffer.from(before);
  const form = FORMS.find(({ textOf }) => textOf(official) === stated.toLowerCase());
  if (form === undefined) return null;
  const next = form.textOf(Buffer.from(after));
  const isUpper = stated !== stated.toLowerCase();
  return {
    bytes: Buffer.from(lead + (isUpper ? next.toUpperCase() : next) + tail, 'latin1'),
    algorithm: form.name,
  };
}
