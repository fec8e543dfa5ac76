import { type PathSyntax, DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { checkLength, PatchError } from '../patch/patch-error.ts';
import { findPlaces, type ValueEdit, type FieldEdit } from '../patch/find-places.ts';
import { READ_LIMITS, type ReadLimits } from '../value-visitor.ts';
import type { DecodedText, NamedEncoding } from './decode-text.ts';
import { type ReadTarget, readLines } from './report-text.ts';
import { spliceText, type TextSplice } from './splice-text.ts';

export interface PatchTextOptions {
  readonly encoding?: NamedEncoding | undefined;
  readonly limits?: ReadLimits;
}

/** Replaces texts of a file, or of a string that holds one. @throws PatchError; FormatError when it cannot be read */
export function patchText<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  { encoding, limits = READ_LIMITS }: PatchTextOptions,
  {
    syntax,
    read,
    write,
  }: {
    readonly syntax: PathSyntax;
    readonly read: (decoded: DecodedText, target: ReadTarget) => void;
    /** Gives the characters of a text; `place.characters` is the text itself. */
    readonly write: (decoded: DecodedText) => (place: TextSplice) => string;
  },
): Value extends string ? string : Buffer {
  return spliceText(value, encoding, (decoded) => {
    const places = findPlaces(edits, syntax, (visitor) => {
      read(decoded, { visitor, limits, reportPartError: () => undefined });
    });
    const charactersOf = write(decoded);
    return places.map(({ edit: { fieldPath }, start, end, target }) => {
      const place = { start, end, fieldPath, characters: String(target) };
      checkLength(fieldPath, place.characters, limits.stringBytes);
      return { ...place, characters: charactersOf(place) };
    });
  });
}

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
