import { POINTER_SYNTAX } from '../collect/path-syntax.ts';
import { checkLength } from '../patch/check-target.ts';
import { findPlaces } from '../patch/find-places.ts';
import type { ValueEdit } from '../patch/value-edit.ts';
import type { NamedEncoding } from '../text/decode-text.ts';
import { spliceText } from '../text/splice-text.ts';
import { READ_LIMITS, type ReadLimits } from '../value-visitor.ts';
import { escapeStyleOf, jsonLiteral } from './json-escapes.ts';
import { readJson } from './read-json.ts';

/** How a JSON text is patched. */
export interface PatchJsonOptions {
  readonly encoding?: NamedEncoding | undefined;
  readonly limits?: ReadLimits;
}

/**
 * Replaces strings of a JSON text. Only their literals change; new ones escape what the document escapes.
 *
 * @param value a file, or a string that holds one
 * @param edits by JSON pointer
 * @returns the changed file in the same form
 * @throws PatchError; FormatError when the text cannot be read
 */
export function patchJson<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  { encoding, limits = READ_LIMITS }: PatchJsonOptions = {},
): Value extends string ? string : Buffer {
  return spliceText(value, encoding, (decoded) => {
    const places = findPlaces(edits, POINTER_SYNTAX, (visitor) => {
      readJson(decoded, { visitor, limits, reportPartError: () => undefined });
    });
    const style = escapeStyleOf(decoded.text);
    return places.map(({ edit: { fieldPath }, start, end, target }) => {
      const text = String(target);
      checkLength(fieldPath, text, limits.stringBytes);
      return { start, end, fieldPath, characters: jsonLiteral(text, style) };
    });
  });
}
