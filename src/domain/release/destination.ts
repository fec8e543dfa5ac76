import { failure, success, type Result } from '../result.ts';

export type Destination = string & { readonly __brand: 'Destination' };

/** Longest destination, in UTF-8 bytes. */
export const DESTINATION_MAX_BYTES = 1024;

/** Longest segment of a destination, in UTF-8 bytes. */
export const DESTINATION_SEGMENT_MAX_BYTES = 255;

const encoder = new TextEncoder();
// C0, DEL and C1 controls, line and paragraph separators, and the bidirectional overrides that make a path read as another.
// oxlint-disable-next-line no-control-regex
const FORBIDDEN_CHARACTER = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;

/**
 * Parses a destination: NFC, `/` between segments, no empty, `.` or `..` segment, no leading or trailing slash, no
 * backslash, no control character, no lone surrogate, at most 1,024 bytes (255 a segment).
 *
 * @returns the destination, or one sentence that says which rule it breaks
 */
export function parseDestination(text: string): Result<Destination, string> {
  if (text === '') return failure('a destination must not be empty');
  if (!text.isWellFormed())
    return failure('a destination must be well-formed Unicode (it has a lone surrogate)');
  if (FORBIDDEN_CHARACTER.test(text))
    return failure('a destination must not contain control or direction characters');
  if (text.includes('\\')) return failure('a destination uses "/" between segments, not "\\"');
  if (text.startsWith('/')) return failure('a destination is relative: it must not begin with "/"');
  if (text !== text.normalize('NFC')) return failure('a destination must be in Unicode normalization form C');
  if (exceeds(text, DESTINATION_MAX_BYTES)) {
    return failure(`a destination must not exceed ${DESTINATION_MAX_BYTES} bytes`);
  }
  for (const segment of text.split('/')) {
    if (segment === '') return failure('a destination must not have an empty segment');
    if (segment === '.' || segment === '..')
      return failure('a destination must not have a "." or ".." segment');
    if (exceeds(segment, DESTINATION_SEGMENT_MAX_BYTES)) {
      return failure(`a segment of a destination must not exceed ${DESTINATION_SEGMENT_MAX_BYTES} bytes`);
    }
  }
  return success(text as Destination);
}

/** Whether a text has more bytes in UTF-8. A UTF-16 unit has at most three, so that most texts need no encoding. */
function exceeds(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && encoder.encode(text).length > bytes;
}

/** Orders destinations by their UTF-8 bytes, the order of every manifest and page. */
export function compareDestinations(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; i += 1) {
    const a = left.charCodeAt(i);
    const b = right.charCodeAt(i);
    if (a !== b) {
      // UTF-16 order differs from UTF-8 order only where a surrogate meets U+E000..U+FFFF: lift surrogates above those.
      return orderKey(a) - orderKey(b);
    }
  }
  return left.length - right.length;
}

/** Folds case so that two destinations that one file system cannot keep apart get one key. */
export function foldDestination(destination: Destination): string {
  return destination.toLowerCase().normalize('NFC');
}

function orderKey(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit;
}
