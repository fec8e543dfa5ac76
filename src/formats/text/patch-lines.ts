import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { PatchError } from '../patch/patch-error.ts';
import type { FieldEdit } from '../patch/value-edit.ts';
import type { DecodedText } from './decode-text.ts';
import { patchText, type PatchTextOptions } from './patch-text.ts';
import { readLines } from './read-lines.ts';
import type { TextSplice } from './splice-text.ts';

/**
 * Replaces lines of a plain text. Line ends and all other lines stay as they are.
 *
 * @throws PatchError, also for a target text that is not one line; FormatError when the text cannot be read
 */
export function patchLines<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly FieldEdit[],
  options: PatchTextOptions = {},
): Value extends string ? string : Buffer {
  return patchText(value, edits, options, {
    syntax: DOTTED_SYNTAX,
    read: readLines,
    write: (decoded) => (place) => {
      checkLine(decoded, place);
      return place.characters;
    },
  });
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
