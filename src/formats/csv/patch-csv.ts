import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { PatchError } from '../patch/patch-error.ts';
import type { ValueEdit } from '../patch/find-places.ts';
import type { DecodedText } from '../text/decode-text.ts';
import { patchText, type PatchTextOptions } from '../text/patch-text.ts';
import type { TextSplice } from '../text/splice-text.ts';
import { delimiterOf, DELIMITERS, firstRowOf, readCsv, type CsvOptions } from './read-csv.ts';

export interface PatchCsvOptions extends CsvOptions, PatchTextOptions {}

/**
 * Replaces cells of a table of separated values. A cell is quoted where it was quoted before, and where its new text
 * needs it. Everything else stays as it is.
 *
 * @throws PatchError; FormatError when the table cannot be read
 */
export function patchCsv<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  options: PatchCsvOptions,
): Value extends string ? string : Buffer {
  return patchText(value, edits, options, {
    syntax: DOTTED_SYNTAX,
    read: (decoded, target) => {
      readCsv(decoded, options, target);
    },
    write: (decoded) => {
      const delimiter = delimiterOf(decoded.text, options);
      // Other delimiters in the first row could be taken for that of the table.
      const counted = options.delimiter === 'auto' ? firstRowOf(decoded.text).length : -1;
      return (place) => {
        if (!place.characters.includes('\0')) {
          return cell(place, decoded, place.start <= counted ? DELIMITERS : [delimiter]);
        }
        const message = 'the target text has a NUL, which no table holds';
        throw new PatchError('character_not_allowed', place.fieldPath, message);
      };
    },
  });
}

function cell(
  { characters: value, start, end }: TextSplice,
  { text }: DecodedText,
  delimiters: readonly string[],
): string {
  const isQuoted = text.charAt(start) === '"';
  // A file that has a plain quote within a plain cell does not expect quotes around the cell.
  const mayHoldQuotes = !isQuoted && text.slice(start, end).includes('"');
  const needsQuotes =
    delimiters.some((delimiter) => value.includes(delimiter)) ||
    /^["\uFEFF]|[\r\n]/.test(value) ||
    (value.includes('"') && !mayHoldQuotes) ||
    (value === '' && isWholeLine(text, start, end));
  return isQuoted || needsQuotes ? `"${value.replaceAll('"', '""')}"` : value;
}

/** A line without a character is not a row. */
function isWholeLine(text: string, start: number, end: number): boolean {
  const isLineEnd = (character: string): boolean =>
    character === '' || character === '\n' || character === '\r';
  return isLineEnd(text.charAt(start - 1)) && isLineEnd(text.charAt(end));
}
