import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import type { ValueEdit } from '../patch/find-places.ts';
import { PatchError } from '../patch/patch-error.ts';
import { patchText, type PatchTextOptions } from '../text/patch-text.ts';
import type { CompiledScript } from './compile-script.ts';
import { readScript } from './read-script.ts';
import { escapeFormOf, escapeText } from './script-escapes.ts';

/**
 * Replaces texts of a script. Everything around them stays as it is. The new script is read again: a target text that its
 * patterns do not find as it is would be lost in the next parse, or be code.
 *
 * @throws PatchError, also `character_not_allowed` for a target text that the patterns do not find; FormatError when the
 *   script cannot be read
 */
export function patchScript<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  script: CompiledScript,
  options: PatchTextOptions,
): Value extends string ? string : Buffer {
  return patchText(value, edits, options, {
    syntax: DOTTED_SYNTAX,
    read: (decoded, target) => {
      readScript(decoded, script, target);
    },
    write: ({ text }) => {
      const form = escapeFormOf(text, script.escapes);
      return ({ characters, start, fieldPath }) => {
        if (!characters.includes('\0')) return escapeText(characters, text.charAt(start - 1), form);
        throw new PatchError('character_not_allowed', fieldPath, 'the target text has a NUL');
      };
    },
    readsBack:
      'the patterns of the script would not find the target text again as it is; it may look like code, a comment or the end of its line',
  });
}
