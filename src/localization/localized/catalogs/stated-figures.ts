import type { FileChange } from '../../../formats/catalogs/catalog-plugin.ts';
import { nameForms, positionsOf } from './name-search.ts';

/** Bytes before and after a name in which its size is searched. */
const NEAR_BYTES = 4096;
/** A smaller size can be near a name by chance. */
const SMALLEST_SIZE = 100;
/** A checksum with fewer decimal digits can be in a file by chance. */
const FEWEST_DIGITS = 6;
const MOST_PLACES = 10_000;

/**
 * Finds a figure of the official file that a catalog still states: its size near its name, or a checksum anywhere, because few
 * other values are the same by chance.
 *
 * @param bytes that have the name
 * @param name of the file without its folder
 * @returns the figure, for people; `null` when none is stated
 */
export function statedFigure(bytes: Buffer, name: string, change: FileChange): string | null {
  return statedChecksum(bytes, name, change) ?? statedSize(bytes, name, change);
}

function statedChecksum(bytes: Buffer, name: string, change: FileChange): string | null {
  const { before, after } = change;
  for (const [algorithm, digits] of Object.entries(before.checksums)) {
    if (Object.values(after.checksums).includes(digits)) continue;
    if (isStated(bytes, name, digits)) return `the ${algorithm} ${digits}`;
  }
  return statedContentCrc(bytes, name, change);
}

/**
 * Finds the CRC of the content of an official bundle that a file still states. Only catalogs of bundles state it.
 *
 * @returns the figure, for people; `null` when it is not stated
 */
export function statedContentCrc(bytes: Buffer, name: string, { bundle }: FileChange): string | null {
  const crc = bundle?.before.crc32 ?? null;
  if (crc === null || crc === bundle?.after.crc32) return null;
  return isStated(bytes, name, crc.toString(16).padStart(8, '0')) ? `the CRC ${crc} of its content` : null;
}

function isStated(bytes: Buffer, name: string, digits: string): boolean {
  return checksumForms(digits).some((form) => standsOutsideOf(nameForms(name), bytes, form));
}

/** Whether bytes have a checksum that is not just a part of the name: the names of bundles often end with a hash. */
function standsOutsideOf(names: readonly Buffer[], bytes: Buffer, checksum: Buffer): boolean {
  const around = names.map((name) => ({ name, at: name.indexOf(checksum) })).filter(({ at }) => at !== -1);
  for (let at = bytes.indexOf(checksum); at !== -1; at = bytes.indexOf(checksum, at + 1)) {
    const isInName = around.some((each) =>
      bytes.subarray(at - each.at, at - each.at + each.name.length).equals(each.name),
    );
    if (!isInName) return true;
  }
  return false;
}

/** As digits in either case, as base64 and as a decimal number, each as text of one or two bytes; and the bytes themselves. */
function checksumForms(digits: string): readonly Buffer[] {
  const raw = Buffer.from(digits, 'hex');
  const decimal = String(BigInt(`0x${digits}`));
  const texts = [digits, digits.toUpperCase()];
  if (raw.length > 8) texts.push(raw.toString('base64'));
  else if (decimal.length >= FEWEST_DIGITS) texts.push(decimal);
  return [
    ...texts.flatMap((text) => [Buffer.from(text), wide(text)]),
    raw.length > 8 ? raw : Buffer.from(raw).reverse(),
  ];
}

/** Without the last byte, so that it is found in both orders of bytes. */
function wide(text: string): Buffer {
  return Buffer.from(text, 'utf16le').subarray(0, -1);
}

function statedSize(bytes: Buffer, name: string, { before, after }: FileChange): string | null {
  const { size } = before;
  if (size < SMALLEST_SIZE || size === after.size) return null;
  const number = Buffer.alloc(4);
  if (size < 2 ** 32) number.writeUInt32LE(size);
  const text = new RegExp(`(?<![\\d.])${size}(?![\\d.])`);
  for (const at of positionsOf(bytes, name, MOST_PLACES)) {
    const near = bytes.subarray(Math.max(0, at - NEAR_BYTES), at + NEAR_BYTES);
    const isBinary = near.includes(0);
    if (isBinary && size < 2 ** 32 && near.includes(number)) return `the size ${size}`;
    // A text in UTF-16 has ASCII between zeros.
    const characters = near.toString('latin1');
    if (text.test(isBinary ? characters.replaceAll('\0', '') : characters)) return `the size ${size}`;
  }
  return null;
}
