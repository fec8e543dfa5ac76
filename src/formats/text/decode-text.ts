import { constants } from 'node:buffer';
import { FormatError } from '../format-error.ts';
import { isTableEncoding, labelOf, tableEncoding, type TableEncodingName } from './table-encoding.ts';

export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | TableEncodingName;

/** An encoding that a rule names; `utf-16` needs a byte order mark. */
export type NamedEncoding = TextEncoding | 'utf-16';

/** How the lines of a text end; `none` when it has one line without an end. */
type LineEnd = 'none' | 'lf' | 'crlf' | 'cr' | 'mixed';

/** A decoded text, and the form in which a changed one is written. */
export interface DecodedText {
  readonly text: string;
  readonly encoding: TextEncoding;
  /** Whether a byte order mark precedes the text. */
  readonly byteOrderMark: boolean;
  readonly lineEnd: LineEnd;
}

const BYTE_ORDER_MARKS: readonly (readonly [TextEncoding, Buffer])[] = [
  ['utf-8', Buffer.of(0xef, 0xbb, 0xbf)],
  ['utf-16le', Buffer.of(0xff, 0xfe)],
  ['utf-16be', Buffer.of(0xfe, 0xff)],
];

const SEARCH_STEP = 65_536;
const MAX_CHARACTER = 4;

/**
 * Decodes a text file strictly.
 *
 * @param named by a rule; otherwise the byte order mark decides, and UTF-8 is the default
 * @throws FormatError `encoding_invalid` with the offset of the first bad byte, `container_limit_exceeded`
 */
export function decodeText(bytes: Uint8Array, named?: NamedEncoding): DecodedText {
  const mark = BYTE_ORDER_MARKS.find(
    ([marked, prefix]) =>
      (named === undefined || marked.startsWith(named)) && prefix.equals(bytes.subarray(0, prefix.length)),
  );
  if (named === 'utf-16' && mark === undefined) {
    throw new FormatError('encoding_invalid', 'the text has no byte order mark of UTF-16', 0);
  }
  const found = mark?.[0] ?? (named === undefined || named === 'utf-16' ? 'utf-8' : named);
  const start = mark?.[1].length ?? 0;
  if (bytes.length > constants.MAX_STRING_LENGTH) {
    throw new FormatError(
      'container_limit_exceeded',
      `the text has ${bytes.length} bytes, more than ${constants.MAX_STRING_LENGTH}`,
    );
  }
  const body = bytes.subarray(start);
  try {
    const text = repairControls(decoderOf(found).decode(body), found);
    checkLength(text, found, body.length);
    return { text, encoding: found, byteOrderMark: mark !== undefined, lineEnd: lineEndOf(text) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const offset = start + firstBadByte(body, found);
    throw new FormatError('encoding_invalid', `the text is not valid ${found}`, offset);
  }
}

/** The beginning of a text, of which the last character can be cut. Bytes that are not valid become U+FFFD. */
export function beginningOf(bytes: Uint8Array, encoding: TextEncoding): string {
  const label = isTableEncoding(encoding) ? labelOf(encoding) : encoding;
  return new TextDecoder(label).decode(bytes, { stream: true });
}

/** A string that was decoded elsewhere, such as a field of an object that holds a whole file. */
export function decodedString(value: string): DecodedText {
  const byteOrderMark = value.startsWith('\uFEFF');
  const text = byteOrderMark ? value.slice(1) : value;
  return { text, encoding: 'utf-8', byteOrderMark, lineEnd: lineEndOf(text) };
}

/**
 * Converts positions in UTF-16 code units of the text to positions in bytes of the file, byte order mark included.
 *
 * @returns a function that counts from the position of its last call, so rising positions are counted once in all
 */
export function byteOffsets({ text, encoding, byteOrderMark }: DecodedText): (position: number) => number {
  const mark = BYTE_ORDER_MARKS.find(([marked]) => byteOrderMark && marked === encoding);
  const first = mark?.[1].length ?? 0;
  let counted = 0;
  let bytes = first;
  return (position) => {
    if (position < counted) [counted, bytes] = [0, first];
    bytes += encodedLength(text.slice(counted, position), encoding);
    counted = position;
    return bytes;
  };
}

function encodedLength(text: string, encoding: TextEncoding): number {
  if (encoding === 'utf-8') return Buffer.byteLength(text);
  return isTableEncoding(encoding) ? tableEncoding(encoding).lengthOf(text) : 2 * text.length;
}

/**
 * Checks that every character has the bytes that the table of the encoding gives it. A file can have longer codes for
 * some; the positions of its texts would not be known then.
 */
function checkLength(text: string, encoding: TextEncoding, size: number): void {
  if (!isTableEncoding(encoding) || tableEncoding(encoding).lengthOf(text) === size) return;
  const message = `the text has characters in codes that ${encoding} is not written with`;
  throw new FormatError('encoding_invalid', message);
}

function decoderOf(encoding: TextEncoding): TextDecoder {
  return new TextDecoder(isTableEncoding(encoding) ? labelOf(encoding) : encoding, {
    fatal: true,
    ignoreBOM: true,
  });
}

/** The decoder of ICU permutes three control characters, as IBM's code page 943 does. The Encoding Standard does not. */
const CONTROLS = new Map(
  [0x1a, 0x1c, 0x7f].map((code) => [
    new TextDecoder('shift_jis').decode(Uint8Array.of(code)),
    String.fromCodePoint(code),
  ]),
);

function repairControls(text: string, encoding: TextEncoding): string {
  if (encoding !== 'cp932') return text;
  // oxlint-disable-next-line no-control-regex -- the characters that it repairs
  return text.replaceAll(/[\x1A\x1C\x7F]/g, (character) => CONTROLS.get(character) ?? character);
}

/** Where the first invalid character begins. Called for bytes that are not valid. */
function firstBadByte(bytes: Uint8Array, encoding: TextEncoding): number {
  const coarse = decoderOf(encoding);
  let checked = 0;
  const passes = (decoder: TextDecoder, from: number, to: number): string | null => {
    try {
      return decoder.decode(bytes.subarray(from, to), { stream: true });
    } catch {
      return null;
    }
  };
  while (checked < bytes.length && passes(coarse, checked, checked + SEARCH_STEP) !== null) {
    checked += SEARCH_STEP;
  }
  // A character can lie across the border, so the search by bytes begins before it.
  const fine = decoderOf(encoding);
  let position = Math.max(0, Math.min(checked, bytes.length) - MAX_CHARACTER);
  let character = position;
  passes(fine, 0, position);
  for (; position < bytes.length; position += 1) {
    const text = passes(fine, position, position + 1);
    if (text === null) return character;
    // An empty result means that the character is not complete yet.
    if (text !== '') character = position + 1;
  }
  return character;
}

function lineEndOf(text: string): LineEnd {
  const feeds = count(text, '\n');
  const returns = count(text, '\r');
  if (feeds + returns === 0) return 'none';
  if (returns === 0) return 'lf';
  if (feeds === 0) return 'cr';
  return feeds === returns && count(text, '\r\n') === feeds ? 'crlf' : 'mixed';
}

function count(text: string, part: string): number {
  let found = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) found += 1;
  return found;
}
