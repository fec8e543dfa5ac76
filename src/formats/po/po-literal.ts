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
export const PO_LETTERS: Readonly<Record<string, string>> = {
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
