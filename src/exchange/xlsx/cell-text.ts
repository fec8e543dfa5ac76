import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';

/** UTF-16 code units of a cell. Source: Excel specifications and limits. */
const MAX_CELL_CHARACTERS = 32_767;

/** Characters that are written as `_xHHHH_`, and what looks like one. Source: ISO/IEC 29500-1, 22.9.2.19 (ST_Xstring). */
// oxlint-disable-next-line no-control-regex -- XML cannot carry them, or readers change them
const ESCAPED = /[\x01-\x08\v\f\r\x0E-\x1F\uFFFE\uFFFF]|_(?=x[\dA-Fa-f]{4}_)/g;

/**
 * The text of a cell as XLSX holds it.
 *
 * @param name of the row and the column, for the message of a refusal
 * @throws ExchangeFileError `character_unsupported`, `limit_exceeded`
 */
export function cellText(name: string, text: string): string {
  if (!text.isWellFormed() || text.includes('\0')) {
    const message = `${name}: XLSX cannot carry NUL and lone surrogates`;
    throw new ExchangeFileError('character_unsupported', message, null);
  }
  if (text.length > MAX_CELL_CHARACTERS) {
    const message = `${name}: a cell of XLSX has at most ${MAX_CELL_CHARACTERS} characters, and the text has ${text.length}; export it in another format`;
    throw new ExchangeFileError('limit_exceeded', message, null);
  }
  return text.replaceAll(ESCAPED, escaped);
}

/** The text that XLSX holds with escapes. */
export function readCellText(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replaceAll(/_x([\dA-Fa-f]{4})_/g, (_escape, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function escaped(character: string): string {
  return `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
}

/** The letters of a column, from 0: A to Z, AA and so on. */
export function columnLetters(index: number): string {
  let letters = '';
  for (let rest = index; rest >= 0; rest = Math.floor(rest / 26) - 1) {
    letters = String.fromCharCode(65 + (rest % 26)) + letters;
  }
  return letters;
}

/** The column of a reference such as `AB12`, from 0; `null` for another text. */
export function columnOfReference(reference: string): number | null {
  const letters = /^([A-Z]{1,3})\d{1,7}$/.exec(reference)?.[1];
  if (letters === undefined) return null;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}
