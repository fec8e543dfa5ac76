import { eastAsianWidth } from 'get-east-asian-width';

/** Combining marks, format and control characters. */
const WITHOUT_WIDTH = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u;

/**
 * The columns of a text in a font of equal widths: 2 for a wide or full-width East Asian character, 0 for combining,
 * format and control characters, else 1. Source: Unicode Standard Annex 11.
 */
export function displayWidth(text: string): number {
  let width = 0;
  for (let at = 0; at < text.length; at += 1) {
    const codePoint = text.codePointAt(at) ?? 0;
    width += codePointWidth(codePoint);
    if (codePoint > 0xffff) at += 1;
  }
  return width;
}

/** The columns of one character; see {@link displayWidth}. */
export function characterWidth(character: string): 0 | 1 | 2 {
  return codePointWidth(character.codePointAt(0) ?? 0);
}

function codePointWidth(codePoint: number): 0 | 1 | 2 {
  if (codePoint >= 0x20 && codePoint < 0x7f) return 1;
  if (isCommonWide(codePoint)) return 2;
  if (WITHOUT_WIDTH.test(String.fromCodePoint(codePoint))) return 0;
  return eastAsianWidth(codePoint);
}

/** The letters of kana and the unified ideographs: most characters of a text need no search. */
function isCommonWide(codePoint: number): boolean {
  return (
    (codePoint >= 0x4e00 && codePoint <= 0x9fff) ||
    (codePoint >= 0x3041 && codePoint <= 0x3096) ||
    (codePoint >= 0x30a1 && codePoint <= 0x30fe)
  );
}
