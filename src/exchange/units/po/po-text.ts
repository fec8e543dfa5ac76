import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import { poLiteral } from '../../../formats/po/po-literal.ts';

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
