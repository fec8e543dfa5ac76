import type { PathSyntax } from '../collect/path-syntax.ts';
import { checkLength } from '../patch/patch-error.ts';
import { findPlaces } from '../patch/find-places.ts';
import type { ValueEdit } from '../patch/value-edit.ts';
import { READ_LIMITS, type ReadLimits } from '../value-visitor.ts';
import type { DecodedText, NamedEncoding } from './decode-text.ts';
import type { ReadTarget } from './report-text.ts';
import { spliceText, type TextSplice } from './splice-text.ts';

/** How a text file is patched. */
export interface PatchTextOptions {
  readonly encoding?: NamedEncoding | undefined;
  readonly limits?: ReadLimits;
}

/** How a text format is read, and how it writes a text into a place. */
interface TextFormat {
  readonly syntax: PathSyntax;
  readonly read: (decoded: DecodedText, target: ReadTarget) => void;
  /** Gives the characters of a text; `place.characters` is the text itself. */
  readonly write: (decoded: DecodedText) => (place: TextSplice) => string;
}

/** Replaces texts of a file, or of a string that holds one. @throws PatchError; FormatError when it cannot be read */
export function patchText<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  { encoding, limits = READ_LIMITS }: PatchTextOptions,
  { syntax, read, write }: TextFormat,
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
