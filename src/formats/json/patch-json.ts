import { POINTER_SYNTAX } from '../collect/path-syntax.ts';
import type { ValueEdit } from '../patch/value-edit.ts';
import { patchText, type PatchTextOptions } from '../text/patch-text.ts';
import { escapeStyleOf, jsonLiteral } from './json-escapes.ts';
import { readJson } from './read-json.ts';

/**
 * Replaces strings of a JSON text. Only their literals change; new ones escape what the document escapes.
 *
 * @throws PatchError; FormatError when the text cannot be read
 */
export function patchJson<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  options: PatchTextOptions = {},
): Value extends string ? string : Buffer {
  return patchText(value, edits, options, {
    syntax: POINTER_SYNTAX,
    read: readJson,
    write: ({ text }) => {
      const style = escapeStyleOf(text);
      return ({ characters }) => jsonLiteral(characters, style);
    },
  });
}
