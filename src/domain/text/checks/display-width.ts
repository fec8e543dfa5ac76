/**
 * The first and last code points that are wide or full-width (W and F) in Unicode Standard Annex 11. Unassigned code
 * points between wide ones are counted to them.
 */
const WIDE_RANGES = Uint32Array.from(
  [
    [0x1100, 0x115f],
    [0x231a, 0x231b],
    [0x2329, 0x232a],
    [0x23e9, 0x23ec],
    [0x23f0, 0x23f0],
    [0x23f3, 0x23f3],
    [0x25fd, 0x25fe],
    [0x2614, 0x2615],
    [0x2630, 0x2637],
    [0x2648, 0x2653],
    [0x267f, 0x267f],
    [0x268a, 0x268f],
    [0x2693, 0x2693],
    [0x26a1, 0x26a1],
    [0x26aa, 0x26ab],
    [0x26bd, 0x26be],
    [0x26c4, 0x26c5],
    [0x26ce, 0x26ce],
    [0x26d4, 0x26d4],
    [0x26ea, 0x26ea],
    [0x26f2, 0x26f3],
    [0x26f5, 0x26f5],
    [0x26fa, 0x26fa],
    [0x26fd, 0x26fd],
    [0x2705, 0x2705],
    [0x270a, 0x270b],
    [0x2728, 0x2728],
    [0x274c, 0x274c],
    [0x274e, 0x274e],
    [0x2753, 0x2755],
    [0x2757, 0x2757],
    [0x2795, 0x2797],
    [0x27b0, 0x27b0],
    [0x27bf, 0x27bf],
    [0x2b1b, 0x2b1c],
    [0x2b50, 0x2b50],
    [0x2b55, 0x2b55],
    [0x2e80, 0x303e],
    [0x3041, 0x3247],
    [0x3250, 0xa4c6],
    [0xa960, 0xa97c],
    [0xac00, 0xd7a3],
    [0xf900, 0xfaff],
    [0xfe10, 0xfe19],
    [0xfe30, 0xfe6b],
    [0xff01, 0xff60],
    [0xffe0, 0xffe6],
    [0x1_6fe0, 0x1_b2fb],
    [0x1_f004, 0x1_f004],
    [0x1_f0cf, 0x1_f0cf],
    [0x1_f18e, 0x1_f18e],
    [0x1_f191, 0x1_f19a],
    [0x1_f200, 0x1_f320],
    [0x1_f32d, 0x1_f335],
    [0x1_f337, 0x1_f37c],
    [0x1_f37e, 0x1_f393],
    [0x1_f3a0, 0x1_f3ca],
    [0x1_f3cf, 0x1_f3d3],
    [0x1_f3e0, 0x1_f3f0],
    [0x1_f3f4, 0x1_f3f4],
    [0x1_f3f8, 0x1_f43e],
    [0x1_f440, 0x1_f440],
    [0x1_f442, 0x1_f4fc],
    [0x1_f4ff, 0x1_f53d],
    [0x1_f54b, 0x1_f54e],
    [0x1_f550, 0x1_f567],
    [0x1_f57a, 0x1_f57a],
    [0x1_f595, 0x1_f596],
    [0x1_f5a4, 0x1_f5a4],
    [0x1_f5fb, 0x1_f64f],
    [0x1_f680, 0x1_f6c5],
    [0x1_f6cc, 0x1_f6cc],
    [0x1_f6d0, 0x1_f6d2],
    [0x1_f6d5, 0x1_f6df],
    [0x1_f6eb, 0x1_f6ec],
    [0x1_f6f4, 0x1_f6fc],
    [0x1_f7e0, 0x1_f7f0],
    [0x1_f90c, 0x1_f93a],
    [0x1_f93c, 0x1_f945],
    [0x1_f947, 0x1_f9ff],
    [0x1_fa70, 0x1_faf8],
    [0x2_0000, 0x3_fffd],
  ].flat(),
);

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
  return isWide(codePoint) ? 2 : 1;
}

/** The letters of kana and the unified ideographs: most characters of a text need no search. */
function isCommonWide(codePoint: number): boolean {
  return (
    (codePoint >= 0x4e00 && codePoint <= 0x9fff) ||
    (codePoint >= 0x3041 && codePoint <= 0x3096) ||
    (codePoint >= 0x30a1 && codePoint <= 0x30fe)
  );
}

/** Whether the last range that begins at or before a code point reaches it. */
function isWide(codePoint: number): boolean {
  let low = 0;
  let high = WIDE_RANGES.length / 2 - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((WIDE_RANGES[middle * 2] ?? 0) <= codePoint) low = middle;
    else high = middle - 1;
  }
  return codePoint >= (WIDE_RANGES[low * 2] ?? 0) && codePoint <= (WIDE_RANGES[low * 2 + 1] ?? 0);
}
