import { isRecord } from '../domain/is-record.ts';
import { parseDestination, type Destination } from '../domain/release/destination.ts';
import { quoteText } from './upstream-location.ts';
import { UpstreamError, type UpstreamEntry } from './upstream.ts';

const UINT32_MAX = 0xffff_ffff;
const HEX_DIGITS = { blake3: 64, sha256: 64, md5: 32 } as const;

type MutableDigests = { -readonly [K in keyof UpstreamEntry['digests']]: UpstreamEntry['digests'][K] };

/**
 * Parses the destination of a catalog entry.
 *
 * @param where names the place in the catalog, for the message
 * @throws UpstreamError `destination_invalid`, with the destination quoted, escaped and shortened
 */
export function parseEntryDestination(text: unknown, where: string): Destination {
  if (typeof text !== 'string') throw invalidEntry(where, 'its path must be a string');
  const parsed = parseDestination(text);
  if (!parsed.ok) {
    throw new UpstreamError('destination_invalid', `${where}: ${quoteText(text)}: ${parsed.error}`);
  }
  return parsed.value;
}

/**
 * Parses a size in bytes, 0 to 2^53 - 1.
 *
 * @throws UpstreamError `catalog_invalid`
 */
export function parseEntrySize(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw invalidEntry(where, 'its size must be a whole number of bytes from 0 to 2^53 - 1');
  }
  return value;
}

/**
 * Parses a CRC-32, given as a number or as decimal text.
 *
 * @returns the canonical unsigned decimal
 * @throws UpstreamError `catalog_invalid`
 */
export function parseEntryCrc32(value: unknown, where: string): string {
  const number = typeof value === 'string' && /^[0-9]{1,10}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > UINT32_MAX) {
    throw invalidEntry(where, 'its CRC-32 must be an unsigned decimal of at most 32 bits');
  }
  return String(number);
}

/**
 * Parses the `digests` object of an entry.
 *
 * @returns digests in lower-case hexadecimal, `crc32` in unsigned decimal
 * @throws UpstreamError `catalog_invalid`, also for a kind of digest that is not known: it could not be checked
 */
export function parseEntryDigests(value: unknown, where: string): UpstreamEntry['digests'] {
  if (value === undefined) return {};
  if (!isRecord(value)) throw invalidEntry(where, 'its digests must be an object');
  const digests: MutableDigests = {};
  for (const [kind, digest] of Object.entries(value)) {
    if (kind === 'crc32') digests.crc32 = parseEntryCrc32(digest, where);
    else if (kind === 'blake3' || kind === 'sha256' || kind === 'md5') {
      if (
        typeof digest !== 'string' ||
        digest.length !== HEX_DIGITS[kind] ||
        !/^[0-9a-fA-F]+$/.test(digest)
      ) {
        throw invalidEntry(where, `its ${kind} must be ${HEX_DIGITS[kind]} hexadecimal digits`);
      }
      digests[kind] = digest.toLowerCase();
    } else {
      throw invalidEntry(
        where,
        `it states a digest ${quoteText(kind)}; blake3, sha256, md5 and crc32 are known`,
      );
    }
  }
  return digests;
}

export function invalidEntry(where: string, problem: string): UpstreamError {
  return new UpstreamError('catalog_invalid', `${where}: ${problem}`);
}

export function tooManyEntries(label: string, maxEntries: number): UpstreamError {
  return new UpstreamError(
    'catalog_too_large',
    `${label} lists more than ${maxEntries} entries (upstream.maxEntries)`,
  );
}

/** The error for a catalog without entries: publishing it would empty the release. */
export function emptyCatalog(label: string): UpstreamError {
  return new UpstreamError('catalog_empty', `${label} lists no entries`);
}
