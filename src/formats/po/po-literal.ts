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
/** The characters that single letters after a backslash stand for. */
const PO_LETTERS: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
};
// oxlint-disable-next-line no-control-regex -- gettext has escapes for these
const ESCAPED = /[\x07-\r"\\]/g;

/** A text between quotes, with the escapes of gettext. Source: GNU gettext manual, "The Format of PO Files". */
export function poLiteral(text: string): string {
  return `"${text.replaceAll(ESCAPED, (character) => ESCAPES[character] ?? character)}"`;
}

const ESCAPE = /\\(?:x([\dA-Fa-f]{1,2})|([0-7]{1,3})|(.))/gsu;

/**
 * The text of a literal. Bytes that are escaped one after the other are the characters of UTF-8.
 *
 * @param literal without its quotes
 * @param keepsForeign whether escaped bytes that are no UTF-8 stay as they are written
 * @returns `null` when bytes are no UTF-8 and do not stay
 */
export function unescapedPo(literal: string, keepsForeign: boolean): string | null {
  if (!literal.includes('\\')) return literal;
  const parts: string[] = [];
  let bytes: number[] = [];
  let written = '';
  let end = 0;
  let isValid = true;
  const add = (text: string): void => {
    if (bytes.length > 0) {
      const decoded = decodedUtf8(bytes);
      isValid &&= decoded !== null || keepsForeign;
      parts.push(decoded ?? written);
      bytes = [];
      written = '';
    }
    parts.push(text);
  };
  for (const { 0: escape, 1: hex, 2: octal, 3: letter, index } of literal.matchAll(ESCAPE)) {
    if (index > end) add(literal.slice(end, index));
    end = index + escape.length;
    if (letter === undefined) {
      bytes.push(hex === undefined ? Number.parseInt(octal ?? '', 8) : Number.parseInt(hex, 16));
      written += escape;
    } else add(PO_LETTERS[letter] ?? letter);
  }
  add(literal.slice(end));
  return isValid ? parts.join('') : null;
}

function decodedUtf8(bytes: readonly number[]): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}
