import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import type { ValueEdit } from '../patch/find-places.ts';
import { PatchError } from '../patch/patch-error.ts';
import { BEYOND_ASCII, declaredEncoding } from '../text/declared-encoding.ts';
import { patchText, type PatchTextOptions } from '../text/patch-text.ts';
import { poLiteral } from './po-literal.ts';
import { readPo } from './read-po.ts';

const DECLARATION = /^"Content-Type:[^"\r\n]*?\bcharset=([\w.:-]+)/im;

/**
 * Replaces the texts of `msgstr`. A text with line ends is written as gettext does, one literal for each line.
 *
 * @throws PatchError, also `unencodable_character` for characters that the declared charset may lack; FormatError when the catalog cannot be read
 */
export function patchPo<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  options: PatchTextOptions = {},
): Value extends string ? string : Buffer {
  return patchText(value, edits, options, {
    syntax: DOTTED_SYNTAX,
    read: readPo,
    write: (decoded) => {
      const lineEnd = /\r\n|\n|\r/.exec(decoded.text)?.[0] ?? '\n';
      const declared = declaredEncoding(decoded, options.encoding, DECLARATION);
      return ({ characters, fieldPath }) => {
        if (characters.includes('\0')) {
          throw new PatchError('character_not_allowed', fieldPath, 'the target text has a NUL');
        }
        if (declared !== null && characters.search(BEYOND_ASCII) !== -1) {
          const message = `the catalog declares the charset ${declared}; name the encoding in the rule`;
          throw new PatchError('unencodable_character', fieldPath, message);
        }
        return literals(characters, lineEnd);
      };
    },
    readsBack: 'an empty msgstr stands for its msgid, so the target text cannot be empty',
  });
}

function literals(characters: string, lineEnd: string): string {
  const lines = characters.split(/(?<=\n)/);
  if (lines.length < 2) return poLiteral(characters);
  return ['""', ...lines.map(poLiteral)].join(lineEnd);
}
