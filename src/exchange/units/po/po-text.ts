import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';

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
const LETTERS: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
};

/**
 * A keyword and its string as gettext writes them: one literal for each line of a text with several. Characters without an escape of
 * their own are written as they are, since translate-toolkit does not read octal ones. Source: GNU gettext manual, "The Format of PO
 * Files".
 *
 * @param prefix of every line, such as `#| `
 * @throws ExchangeFileError `character_unsupported`
 */
export function poString(keyword: string, text: string, prefix = ''): string {
  requirePoText(text);
  const lines = text.split(/(?<=\n)/);
  const literals = lines.length < 2 ? [text] : ['', ...lines];
  return literals.map((line, at) => `${prefix}${at === 0 ? `${keyword} ` : ''}${literal(line)}\n`).join('');
}

/** @throws ExchangeFileError `character_unsupported` */
export function requirePoText(text: string): void {
  if (text.isWellFormed() && !text.includes('\0')) return;
  throw new ExchangeFileError('character_unsupported', 'PO cannot carry NUL and lone surrogates', null);
}

/** A comment of one line. The line ends of its text become blanks. */
export function poComment(mark: string, text: string): string {
  return `${mark} ${text.replaceAll(LINE_ENDS, ' ')}\n`;
}

// oxlint-disable-next-line no-control-regex -- Python's splitlines, which tools use, has these line ends
const LINE_ENDS = /[\n\r\v\f\x1C-\x1E\x85\u2028\u2029]+/g;
// oxlint-disable-next-line no-control-regex -- gettext has escapes for these
const ESCAPED = /[\x07-\r"\\]/g;

function literal(text: string): string {
  const escaped = text.replaceAll(ESCAPED, (character) => ESCAPES[character] ?? character);
  return `"${escaped}"`;
}

/**
 * The text of a literal.
 *
 * @param literal without its quotes
 * @returns `null` when its bytes are no UTF-8
 */
export function unescapedPo(literal: string): string | null {
  if (!literal.includes('\\')) return literal;
  let isValid = true;
  // Bytes that follow each other are the characters of UTF-8.
  const text = literal.replaceAll(
    /(?:\\(?:x[\dA-Fa-f]{1,2}|[0-7]{1,3}))+|\\(.)/gsu,
    (escape: string, letter?: string) => {
      if (letter !== undefined) return LETTERS[letter] ?? letter;
      const bytes = escape
        .slice(1)
        .split('\\')
        .map((code) =>
          code.startsWith('x') ? Number.parseInt(code.slice(1), 16) : Number.parseInt(code, 8),
        );
      try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
      } catch {
        isValid = false;
        return '';
      }
    },
  );
  return isValid ? text : null;
}
