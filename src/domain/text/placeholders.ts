/**
 * Parts of a text that a game replaces or interprets: `{name}` and `{0:N2}` with one level of braces inside, printf
 * directives (their digits are bounded, so that no text takes quadratic time), and tags such as `<color=#ff8800>` and `</b>`.
 */
const PLACEHOLDER = new RegExp(
  [
    String.raw`\{(?:[^{}]|\{[^{}]*\})*\}`,
    String.raw`%(?:\d{1,3}\$)?[-+0#]{0,5}\d{0,9}(?:\.\d{1,9})?[sdifuxXcegG](?![A-Za-z])`,
    String.raw`<\/?[A-Za-z#][^<>]*>`,
  ].join('|'),
  'g',
);

/** The placeholders and tags of a text, in their order, repetitions included. */
export function findPlaceholders(text: string): readonly string[] {
  return text.match(PLACEHOLDER) ?? [];
}

/**
 * Divides a text at its placeholders and tags: plain text at even indexes, one placeholder or tag at each odd index. The
 * parts joined are the text.
 */
export function splitPlaceholders(text: string): readonly string[] {
  const parts: string[] = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    parts.push(text.slice(end, match.index), match[0]);
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}

/** The parts of a text that are placeholders and tags: UTF-16 offsets, the end exclusive. */
export function placeholderSpans(text: string): readonly { readonly start: number; readonly end: number }[] {
  return Array.from(text.matchAll(PLACEHOLDER), ({ 0: found, index }) => ({
    start: index,
    end: index + found.length,
  }));
}
