import { hasBlockList } from '../../domain/release/blocks.ts';
import {
  DESTINATION_MAX_BYTES,
  DESTINATION_SEGMENT_MAX_BYTES,
  parseDestination,
} from '../../domain/release/destination.ts';
import { isMediaType } from '../../contract/formats/manifest-format.ts';
import { BACKSLASH, QUOTE } from '../../contract/json/json-characters.ts';
import type { DestinationListBuilder } from './destination-list.ts';
import { createRawEntry, type RawEntry } from './manifest-columns.ts';

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

const NO_DIGIT = 0x100;
/** Value of each lower-case hexadecimal digit; {@link NO_DIGIT} for every other byte. */
const HEX_VALUES = new Uint16Array(256).fill(NO_DIGIT);
for (const [value, digit] of Buffer.from('0123456789abcdef').entries()) HEX_VALUES[digit] = value;

const HEX_DIGITS = 64;
const MAX_CRC64_DIGITS = 20;
const UINT16_RANGE = 2 ** 16;
const UINT32_RANGE = 2 ** 32;

/**
 * Reads canonical entry lines straight from the bytes, without making a string or an object per line. It accepts only
 * lines that `parseManifestEntry` accepts, and leaves the rest to that function: lines with escapes, and wrong lines,
 * because that function also says what is wrong.
 */
export class ManifestScanner {
  /** The parts of the last accepted line. The next scan overwrites them. */
  readonly entry: RawEntry = createRawEntry();

  readonly #previous: DestinationListBuilder | null;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #mediaTypes = new Map<string, string>();
  #lastMediaType: Buffer = Buffer.alloc(0);

  /**
   * @param previous the destinations accepted so far; a line is then scanned from where its destination differs from
   *   the last one, because paths in byte order share long beginnings
   */
  constructor(previous: DestinationListBuilder | null = null) {
    this.#previous = previous;
  }

  /** Scans the line `[start, end)`, without its line feed; false when it has to be parsed the slow way. */
  scan(bytes: Buffer, start: number, end: number): boolean {
    if (!hasAt(bytes, OPENING, start)) return false;
    const { entry } = this;
    entry.destinationStart = start + OPENING.length;
    entry.destinationEnd = this.#destinationEnd(bytes, entry.destinationStart, end);
    if (entry.destinationEnd < 0 || !hasAt(bytes, SIZE, entry.destinationEnd)) return false;
    let at = this.#scanSize(bytes, entry.destinationEnd + SIZE.length);
    if (at < 0 || !hasAt(bytes, BLAKE3, at)) return false;
    at += BLAKE3.length;
    if (!decodeHex(bytes, at, entry.blake3)) return false;
    at += HEX_DIGITS;
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
    const shared = this.#previous?.sharedWith(bytes, start, lineEnd) ?? 0;
    this.entry.shared = shared;
    // Whole segments of the last destination are valid; the one in which the two differ is checked again.
    let segment = start + shared;
    while (segment > start && bytes[segment - 1] !== SLASH) segment -= 1;
    let ascii = true;
    let at = segment;
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
    let value = 0;
    // Doubles hold ten digits exactly. The number is `first` with the rest of its digits appended.
    for (; isDigit(bytes[at]) && at - start < 10; at += 1) value = value * 10 + ((bytes[at] ?? 0) - ZERO);
    const first = value;
    let scale = 1;
    value = 0;
    for (; isDigit(bytes[at]) && at - start < MAX_CRC64_DIGITS; at += 1) {
      value = value * 10 + ((bytes[at] ?? 0) - ZERO);
      scale *= 10;
    }
    if (at === start || isDigit(bytes[at]) || (bytes[start] === ZERO && at > start + 1)) return -1;
    return this.#setCrc64(first, scale, value) ? at : -1;
  }

  /** Sets `first * scale + rest` as two 32-bit halves; false when it needs more than 64 bits. All terms are below 2^52. */
  #setCrc64(first: number, scale: number, rest: number): boolean {
    const upper = Math.floor(first / UINT16_RANGE) * scale;
    const low = (upper % UINT16_RANGE) * UINT16_RANGE + (first % UINT16_RANGE) * scale + rest;
    const high = Math.floor(upper / UINT16_RANGE) + Math.floor(low / UINT32_RANGE);
    if (high >= UINT32_RANGE) return false;
    this.entry.crc64High = high;
    this.entry.crc64Low = low % UINT32_RANGE;
    return true;
  }

  #scanSource(bytes: Buffer, start: number): number {
    const localized = hasAt(bytes, LOCALIZED, start);
    if (!localized && !hasAt(bytes, OFFICIAL, start)) return -1;
    this.entry.localized = localized;
    return start + (localized ? LOCALIZED.length : OFFICIAL.length);
  }

  #scanMediaType(bytes: Buffer, start: number, lineEnd: number): number {
    const last = this.#lastMediaType;
    if (last.length > 0 && bytes[start + last.length] === QUOTE && hasAt(bytes, last, start)) {
      return start + last.length;
    }
    const end = bytes.indexOf(QUOTE, start);
    if (end < 0 || end > lineEnd) return -1;
    const text = bytes.toString('latin1', start, end);
    if (!this.#mediaTypes.has(text)) {
      if (!isMediaType(text) || text.includes('\\')) return -1;
      this.#mediaTypes.set(text, text);
    }
    // One string for each media type, so that comparing it costs nothing.
    this.entry.mediaType = this.#mediaTypes.get(text) ?? text;
    this.#lastMediaType = Buffer.from(text, 'latin1');
    return end;
  }

  #scanEnding(bytes: Buffer, start: number, end: number): boolean {
    const { entry } = this;
    entry.hasBlocks = hasBlockList(entry.size);
    if (!entry.hasBlocks) return start + CLOSING.length === end && hasAt(bytes, CLOSING, start);
    const blocks = start + BLOCKS.length;
    const closing = blocks + HEX_DIGITS;
    return (
      closing + CLOSING.length === end &&
      hasAt(bytes, BLOCKS, start) &&
      decodeHex(bytes, blocks, entry.blocks) &&
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

function decodeHex(bytes: Uint8Array, start: number, target: Uint8Array): boolean {
  let all = 0;
  for (let i = 0; i < HEX_DIGITS / 2; i += 1) {
    const high = HEX_VALUES[bytes[start + 2 * i] ?? 0] ?? NO_DIGIT;
    const low = HEX_VALUES[bytes[start + 2 * i + 1] ?? 0] ?? NO_DIGIT;
    all |= high | low;
    target[i] = (high << 4) | low;
  }
  return all < NO_DIGIT;
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
