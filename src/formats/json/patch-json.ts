import { POINTER_SYNTAX } from '../collect/path-syntax.ts';
import type { ValueEdit } from '../patch/find-places.ts';
import { patchText, type PatchTextOptions } from '../text/patch-text.ts';
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

/** How a document writes the characters that JSON lets it write in several ways. */
interface EscapeStyle {
  /** The literal of each character of ASCII that the document escapes; the short one where it has both. */
  readonly literals: ReadonlyMap<string, string>;
  readonly isAscii: boolean;
  readonly isUpperCase: boolean;
}

/** The escapes that JSON defines for single characters, as it reads them. RFC 8259, section 7. */
const SHORT = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);
const DEFAULTS = new Map([...SHORT].map(([letter, character]) => [character, `\\${letter}`]));
const ESCAPE = /\\(?:u([\dA-Fa-f]{4})|([^u]))/g;
// oxlint-disable-next-line no-control-regex -- ASCII includes the control characters
const BEYOND_ASCII = /[^\x00-\x7F]/;
// oxlint-disable-next-line no-control-regex -- JSON requires escapes for these
const REQUIRED = /["\\\x00-\x1F]/;

/**
 * Finds out how a document escapes. A character that JSON does not require to be escaped is escaped in new strings only
 * where the document always does that: `/` as PHP does, `<` and `&` as Go does, and everything beyond ASCII as Python does.
 *
 * @param text valid JSON, so a backslash is always part of a string
 */
function escapeStyleOf(text: string): EscapeStyle {
  const literals = new Map<string, string>();
  let isUpperCase: boolean | null = null;
  let hasEscapedBeyond = false;
  for (const [literal, hex, letter = ''] of text.matchAll(ESCAPE)) {
    if (hex !== undefined && isUpperCase === null && /[A-Fa-f]/.test(hex)) isUpperCase = /[A-F]/.test(hex);
    const character =
      hex === undefined ? (SHORT.get(letter) ?? letter) : String.fromCharCode(parseInt(hex, 16));
    if (character > '\u007F') hasEscapedBeyond = true;
    else if (hex === undefined || !literals.has(character)) literals.set(character, literal);
  }
  for (const character of literals.keys()) {
    if (!REQUIRED.test(character) && isWrittenPlain(text, character)) literals.delete(character);
  }
  return {
    literals,
    isAscii: hasEscapedBeyond && !BEYOND_ASCII.test(text),
    isUpperCase: isUpperCase ?? false,
  };
}

/** The string literal of a text, quotes included. */
function jsonLiteral(value: string, { literals, isAscii, isUpperCase }: EscapeStyle): string {
  let literal = '"';
  for (let index = 0; index < value.length; index += 1) {
    const character = value.charAt(index);
    const isEscaped = REQUIRED.test(character) || (isAscii && character > '\u007F');
    literal += literals.get(character) ?? (isEscaped ? escaped(character, isUpperCase) : character);
  }
  return `${literal}"`;
}

function escaped(character: string, isUpperCase: boolean): string {
  if (character === '"' || character === '\\') return `\\${character}`;
  const short = DEFAULTS.get(character);
  if (short !== undefined) return short;
  const hex = character.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${isUpperCase ? hex.toUpperCase() : hex}`;
}

function isWrittenPlain(text: string, character: string): boolean {
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
    if (text.charAt(at - 1) !== '\\') return true;
  }
  return false;
}
