import { type PathSyntax, DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { checkLength, PatchError } from '../patch/patch-error.ts';
import { findPlaces, isNested, type ValueEdit, type FieldEdit } from '../patch/find-places.ts';
import { READ_LIMITS, type ReadLimits } from '../value-visitor.ts';
import { decodedString, decodeText, type DecodedText, type NamedEncoding } from './decode-text.ts';
import { FormatError } from '../format-error.ts';
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
    readsBack,
  }: {
    readonly syntax: PathSyntax;
    readonly read: (decoded: DecodedText, target: ReadTarget) => void;
    /** Gives the characters of a text; `place.characters` is the text itself. */
    readonly write: (decoded: DecodedText) => (place: TextSplice) => string;
    /** For formats in which some texts cannot be written so that they are read again: the message for such a text. */
    readonly readsBack?: string;
  },
): Value extends string ? string : Buffer {
  const patched = spliceText(value, encoding, (decoded) => {
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
  if (readsBack === undefined) return patched;
  const decoded = typeof patched === 'string' ? decodedString(patched) : decodeText(patched, encoding);
  try {
    findPlaces(invertedEdits(edits), syntax, (visitor) => {
      read(decoded, { visitor, limits, reportPartError: () => undefined });
    });
  } catch (error) {
    const isOther = !(error instanceof PatchError) && !(error instanceof FormatError);
    if (isOther) throw error;
    const path = error instanceof PatchError ? error.fieldPath : (edits[0]?.fieldPath ?? '');
    throw new PatchError('character_not_allowed', path, readsBack);
  }
  return patched;
}

/** The same edits the other way round: they find the places of the targets. Files inside of fields are left out. */
function invertedEdits(edits: readonly ValueEdit[]): readonly ValueEdit[] {
  return edits.flatMap((edit) =>
    isNested(edit) ? [] : [{ fieldPath: edit.fieldPath, source: edit.target, target: edit.source }],
  );
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
