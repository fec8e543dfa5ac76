import { hasBlockList } from '../../domain/release/blocks.ts';
import {
  DESTINATION_MAX_BYTES,
  DESTINATION_SEGMENT_MAX_BYTES,
  parseDestination,
} from '../../domain/release/destination.ts';
import { isMediaType } from '../../contract/formats/manifest-format.ts';
import { BACKSLASH, QUOTE } from '../../contract/json/json-characters.ts';
import type { RawEntry } from './manifest-columns.ts';

const SLASH = 0x2f;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

const OPENING = Buffer.from('{"destination":"');
const SIZE = Buffer.from('","size":');
const BLAKE3 = Buffer.from(',"blake3":"');
const CRC64 = Buffer.from('","crc64":"');
const SOURCE = Buffer.from('","source":"');
const OFFICIAL = Buffer.from('official');
const LOCALIZED = Buffer.from('localized');
const MEDIA_TYPE = Buffer.from('","media_type":"');
const BLOCKS = Buffer.from('","blocks":"');
const CLOSING = Buffer.from('"}');

const HEX_DIGITS = 64;
const MAX_CRC64_DIGITS = 20;
const POWERS_OF_TEN = Array.from({ length: 11 }, (_, exponent) => 10n ** BigInt(exponent));
const UINT64_MAX = 0xffff_ffff_ffff_ffffn;

/**
 * Reads canonical entry lines straight from the bytes, without making a string or an object per line. It accepts only
 * what `parseManifestEntry` accepts, and not everything that it accepts: a line that needs escapes, or that is wrong, it
 * leaves to that function, which also knows how to say what is wrong.
 */
export class ManifestScanner {
  /** What the last accepted line holds; overwritten by the next. */
  readonly entry: RawEntry = {
    destinationStart: 0,
    destinationEnd: 0,
    size: 0,
    blake3Start: 0,
    crc64: 0n,
    localized: false,
    mediaTypeStart: 0,
    mediaTypeEnd: 0,
    blocksStart: -1,
  };

  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #mediaTypes = new Set<string>();
  #lastMediaType: Buffer = Buffer.alloc(0);

  /** Scans the line `[start, end)`, without its line feed; false when it has to be parsed the slow way. */
  scan(bytes: Buffer, start: number, end: number): boolean {
    if (!hasAt(bytes, OPENING, start)) return false;
    const { entry } = this;
    entry.destinationStart = start + OPENING.length;
    entry.destinationEnd = this.#destinationEnd(bytes, entry.destinationStart, end);
    if (entry.destinationEnd < 0 || !hasAt(bytes, SIZE, entry.destinationEnd)) return false;
    let at = this.#scanSize(bytes, entry.destinationEnd + SIZE.length);
    if (at < 0 || !hasAt(bytes, BLAKE3, at)) return false;
    entry.blake3Start = at + BLAKE3.length;
    if (!isHexAt(bytes, entry.blake3Start)) return false;
    at = entry.blake3Start + HEX_DIGITS;
    if (!hasAt(bytes, CRC64, at)) return false;
    at = this.#scanCrc64(bytes, at + CRC64.length);
    if (at < 0 || !hasAt(bytes, SOURCE, at)) return false;
    at = this.#scanSource(bytes, at + SOURCE.length);
    if (at < 0 || !hasAt(bytes, MEDIA_TYPE, at)) return false;
    at = this.#scanMediaType(bytes, at + MEDIA_TYPE.length, end);
    if (at < 0) return false;
    return this.#scanEnding(bytes, at, end);
  }

  #destinationEnd(bytes: Buffer, start: number, lineEnd: number): number {
    let segment = start;
    let ascii = true;
    let at = start;
    for (; at < lineEnd; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) break;
      if (byte === SLASH) {
        if (!isSegment(bytes, segment, at)) return -1;
        segment = at + 1;
      } else if (byte >= 0x80) ascii = false;
      else if (byte < 0x20 || byte === BACKSLASH || byte === 0x7f) return -1;
    }
    if (at - start > DESTINATION_MAX_BYTES || !isSegment(bytes, segment, at)) return -1;
    return ascii || this.#isDestination(bytes, start, at) ? at : -1;
  }

  #isDestination(bytes: Buffer, start: number, end: number): boolean {
    try {
      return parseDestination(this.#decoder.decode(bytes.subarray(start, end))).ok;
    } catch {
      // Not UTF-8: the slow way says so.
      return false;
    }
  }

  #scanSize(bytes: Buffer, start: number): number {
    let value = 0;
    let at = start;
    for (; isDigit(bytes[at]); at += 1) value = value * 10 + ((bytes[at] ?? 0) - ZERO);
    if (at === start || (bytes[start] === ZERO && at > start + 1)) return -1;
    if (value > Number.MAX_SAFE_INTEGER) return -1;
    this.entry.size = value;
    return at;
  }

  #scanCrc64(bytes: Buffer, start: number): number {
    let at = start;
    let high = 0;
    let low = 0;
    // Two doubles of up to ten digits each: one bigint operation instead of one per digit.
    for (; isDigit(bytes[at]) && at - start <= MAX_CRC64_DIGITS; at += 1) {
      if (at - start < 10) high = high * 10 + ((bytes[at] ?? 0) - ZERO);
      else low = low * 10 + ((bytes[at] ?? 0) - ZERO);
    }
    const digits = at - start;
    if (digits === 0 || digits > MAX_CRC64_DIGITS || (bytes[start] === ZERO && digits > 1)) return -1;
    const value =
      digits <= 10 ? BigInt(high) : BigInt(high) * (POWERS_OF_TEN[digits - 10] ?? 1n) + BigInt(low);
    if (value > UINT64_MAX) return -1;
    this.entry.crc64 = value;
    return at;
  }

  #scanSource(bytes: Buffer, start: number): number {
    const localized = hasAt(bytes, LOCALIZED, start);
    if (!localized && !hasAt(bytes, OFFICIAL, start)) return -1;
    this.entry.localized = localized;
    return start + (localized ? LOCALIZED.length : OFFICIAL.length);
  }

  #scanMediaType(bytes: Buffer, start: number, lineEnd: number): number {
    const end = bytes.indexOf(QUOTE, start);
    if (end < 0 || end > lineEnd) return -1;
    this.entry.mediaTypeStart = start;
    this.entry.mediaTypeEnd = end;
    const length = end - start;
    if (this.#lastMediaType.length === length && hasAt(bytes, this.#lastMediaType, start)) return end;
    const text = bytes.toString('latin1', start, end);
    if (!this.#mediaTypes.has(text)) {
      if (!isMediaType(text) || text.includes('\\')) return -1;
      this.#mediaTypes.add(text);
    }
    this.#lastMediaType = Buffer.from(text, 'latin1');
    return end;
  }

  #scanEnding(bytes: Buffer, start: number, end: number): boolean {
    const { entry } = this;
    if (!hasBlockList(entry.size)) {
      entry.blocksStart = -1;
      return start + CLOSING.length === end && hasAt(bytes, CLOSING, start);
    }
    entry.blocksStart = start + BLOCKS.length;
    const closing = entry.blocksStart + HEX_DIGITS;
    return (
      closing + CLOSING.length === end &&
      hasAt(bytes, BLOCKS, start) &&
      isHexAt(bytes, entry.blocksStart) &&
      hasAt(bytes, CLOSING, closing)
    );
  }
}

function hasAt(bytes: Uint8Array, expected: Uint8Array, at: number): boolean {
  for (let i = 0; i < expected.length; i += 1) {
    if (bytes[at + i] !== expected[i]) return false;
  }
  return true;
}

function isHexAt(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < HEX_DIGITS; i += 1) {
    const byte = bytes[at + i] ?? 0;
    if (!(byte >= 0x30 && byte <= 0x39) && !(byte >= 0x61 && byte <= 0x66)) return false;
  }
  return true;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isSegment(bytes: Uint8Array, start: number, end: number): boolean {
  const length = end - start;
  if (length < 1 || length > DESTINATION_SEGMENT_MAX_BYTES) return false;
  if (bytes[start] !== DOT) return true;
  return !(length === 1 || (length === 2 && bytes[start + 1] === DOT));
}
