import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { findPlaces } from '../patch/find-places.ts';
import { PatchError } from '../patch/patch-error.ts';
import type { FieldEdit } from '../patch/value-edit.ts';
import { READ_LIMITS, type ReadLimits } from '../value-visitor.ts';
import type { DecodedText, NamedEncoding } from './decode-text.ts';
import { readLines } from './read-lines.ts';
import { spliceText, type TextSplice } from './splice-text.ts';
import { checkLength } from '../patch/check-target.ts';

/** How a plain text is patched. */
export interface PatchLinesOptions {
  readonly encoding?: NamedEncoding | undefined;
  readonly limits?: ReadLimits;
}

/**
 * Replaces lines of a plain text. Line ends and all other lines stay as they are.
 *
 * @param value a file, or a string that holds one
 * @returns the changed file in the same form
 * @throws PatchError, also for a target text that is not one line; FormatError when the text cannot be read
 */
export function patchLines<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly FieldEdit[],
  { encoding, limits = READ_LIMITS }: PatchLinesOptions = {},
): Value extends string ? string : Buffer {
  return spliceText(value, encoding, (decoded) =>
    findPlaces(edits, DOTTED_SYNTAX, (visitor) => {
      readLines(decoded, { visitor, limits, reportPartError: () => undefined });
    }).map(({ edit: { fieldPath }, start, end, target }) => {
      const splice = { start, end, fieldPath, characters: String(target) };
      checkLine(decoded, splice);
      checkLength(fieldPath, splice.characters, limits.stringBytes);
      return splice;
    }),
  );
}

/** A line that would not be read as this one line again is refused. */
function checkLine(
  { text, byteOrderMark }: DecodedText,
  { start, end, characters, fieldPath }: TextSplice,
): void {
  const refuse = (message: string): never => {
    throw new PatchError('character_not_allowed', fieldPath, message);
  };
  if (/[\r\n]/.test(characters)) refuse('the target text has a line end, and the place is one line');
  if (characters.includes('\0')) refuse('the target text has a NUL, which no text file holds');
  if (characters === '' && end === text.length) refuse('the last line has no end, so it cannot be empty');
  if (start === 0 && !byteOrderMark && characters.startsWith('\uFEFF')) {
    refuse('the target text begins with U+FEFF, which would be read as a byte order mark');
  }
}
