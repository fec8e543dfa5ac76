import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import type { ValueEdit } from '../patch/find-places.ts';
import { PatchError } from '../patch/patch-error.ts';
import { patchText, type PatchTextOptions } from '../text/patch-text.ts';
import { readPo } from './read-po.ts';

/**
 * Replaces the texts of `msgstr`. A text with line ends is written as gettext does, one literal for each line.
 *
 * @throws PatchError; FormatError when the catalog cannot be read
 */
export function patchPo<Value extends string | Uint8Array>(
  value: Value,
  edits: readonly ValueEdit[],
  options: PatchTextOptions = {},
): Value extends string ? string : Buffer {
  return patchText(value, edits, options, {
    syntax: DOTTED_SYNTAX,
    read: readPo,
    write: ({ text }) => {
      const lineEnd = /\r\n|\n|\r/.exec(text)?.[0] ?? '\n';
      return ({ characters, fieldPath }) => {
        if (!characters.includes('\0')) return literals(characters, lineEnd);
        throw new PatchError('character_not_allowed', fieldPath, 'the target text has a NUL');
      };
    },
    readsBack: 'an empty msgstr stands for its msgid, so the target text cannot be empty',
  });
}

function literals(characters: string, lineEnd: string): string {
  const lines = characters.split(/(?<=\n)/);
  if (lines.length < 2) return literal(characters);
  return ['""', ...lines.map(literal)].join(lineEnd);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
  '"': String.raw`\"`,
  '\\': '\\\\',
  '\u0007': String.raw`\a`,
  '\b': String.raw`\b`,
  '\f': String.raw`\f`,
  '\v': String.raw`\v`,
};

function literal(characters: string): string {
  // oxlint-disable-next-line no-control-regex -- gettext has escapes for these
  return `"${characters.replaceAll(/[\n\r\t"\\\x07\b\f\v]/g, (character) => ESCAPES[character] ?? character)}"`;
}
