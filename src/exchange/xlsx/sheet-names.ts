/** UTF-16 code units of the name of a sheet. Source: Excel specifications and limits. */
const MAX_CHARACTERS = 31;
// oxlint-disable-next-line no-control-regex -- what spreadsheets and XML refuse in names
const FORBIDDEN = /[\x00-\x1F\x7F:\\/?*[\]\uFFFE\uFFFF]/g;

/**
 * Makes names of sheets from the paths of files: the last part of the path without what spreadsheets forbid, with a number where two
 * are the same. Spreadsheets do not tell upper from lower case.
 */
export function createSheetNames(): (path: string) => string {
  // Excel keeps this name for itself.
  const taken = new Set(['history']);
  return (path) => {
    const plain = plainName(path);
    for (let number = 1; ; number += 1) {
      const end = number === 1 ? '' : ` (${number})`;
      const name = cut(plain, MAX_CHARACTERS - end.length) + end;
      if (taken.has(name.toLowerCase())) continue;
      taken.add(name.toLowerCase());
      return name;
    }
  };
}

function plainName(path: string): string {
  const last = path.split('/').findLast((part) => part !== '') ?? '';
  // An apostrophe at an end would be a quote in formulas.
  const plain = last
    .toWellFormed()
    .replaceAll(FORBIDDEN, '_')
    .replaceAll(/^'+|'+$/g, '_')
    .trim();
  return plain === '' ? 'file' : plain;
}

/** The beginning of a text, without half of a character. */
function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const start = text.slice(0, characters - 1);
  return `${start.isWellFormed() ? start : start.slice(0, -1)}…`;
}
