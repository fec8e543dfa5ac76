import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import { PO_LETTERS, poLiteral } from '../../../formats/po/po-literal.ts';

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
  return literals.map((line, at) => `${prefix}${at === 0 ? `${keyword} ` : ''}${poLiteral(line)}\n`).join('');
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
const ESCAPE = /\\(?:x([\dA-Fa-f]{1,2})|([0-7]{1,3})|(.))/gsu;

/**
 * The text of a literal. Bytes that are escaped one after the other are the characters of UTF-8.
 *
 * @param literal without its quotes
 * @returns `null` when its bytes are no UTF-8
 */
export function unescapedPo(literal: string): string | null {
  if (!literal.includes('\\')) return literal;
  const parts: string[] = [];
  let bytes: number[] = [];
  let end = 0;
  let isValid = true;
  const add = (text: string): void => {
    if (bytes.length > 0) {
      const decoded = decodedUtf8(bytes);
      isValid &&= decoded !== null;
      parts.push(decoded ?? '');
      bytes = [];
    }
    parts.push(text);
  };
  for (const { 0: escape, 1: hex, 2: octal, 3: letter, index } of literal.matchAll(ESCAPE)) {
    if (index > end) add(literal.slice(end, index));
    end = index + escape.length;
    if (letter === undefined)
      bytes.push(hex === undefined ? Number.parseInt(octal ?? '', 8) : Number.parseInt(hex, 16));
    else add(PO_LETTERS[letter] ?? letter);
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
