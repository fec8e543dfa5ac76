import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { checkLength } from '../patch/check-target.ts';
import { findPlaces } from '../patch/find-places.ts';
import { PatchError } from '../patch/patch-error.ts';
import type { ValueEdit } from '../patch/value-edit.ts';
import type { DecodedText, NamedEncoding } from '../text/decode-text.ts';
import { spliceText, type TextSplice } from '../text/splice-text.ts';
import { READ_LIMITS, type ReadLimits } from '../value-visitor.ts';
import { readCsv, type CsvOptions } from './read-csv.ts';

/** How a table is patched. */
export interface PatchCsvOptions extends CsvOptions {
  readonly encoding?: NamedEncoding | undefined;
  readonly limits?: ReadLimits;
}

/**
 * Replaces cells of a table of separated values. A cell is quoted where it was quoted before, and where its new text
 * needs it. Everything else stays as it is.
 *
 * @param value a file, or a string that holds one
 * @returns the changed file in the same form
 * @throws PatchError; FormatError when the table cannot be read
 */
export function patchCsv<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  options: PatchCsvOptions,
): Value extends string ? string : Buffer {
  const limits = options.limits ?? READ_LIMITS;
  return spliceText(value, options.encoding, (decoded) => {
    const places = findPlaces(edits, DOTTED_SYNTAX, (visitor) => {
      readCsv(decoded, options, { visitor, limits, reportPartError: () => undefined });
    });
    return places.map(({ edit: { fieldPath }, start, end, target }): TextSplice => {
      const text = String(target);
      checkLength(fieldPath, text, limits.stringBytes);
      if (text.includes('\0')) {
        throw new PatchError(
          'character_not_allowed',
          fieldPath,
          'the target text has a NUL, which no table holds',
        );
      }
      return { start, end, fieldPath, characters: cell(text, { start, end }, decoded, options.delimiter) };
    });
  });
}

/** The new form of the cell that is at a place. */
function cell(
  value: string,
  { start, end }: { readonly start: number; readonly end: number },
  { text }: DecodedText,
  delimiter: string,
): string {
  const isQuoted = text.charAt(start) === '"';
  // A file that has a plain quote within a plain cell does not expect quotes around the cell.
  const mayHoldQuotes = !isQuoted && text.slice(start, end).includes('"');
  const needsQuotes =
    value.includes(delimiter) ||
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
