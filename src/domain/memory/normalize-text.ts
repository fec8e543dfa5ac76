import { splitPlaceholders } from '../text/placeholders.ts';

/** Stands for a placeholder or tag where two texts are compared. From the private use area, so that no text has it. */
const PLACEHOLDER_MARK = '\uE000';

/** A normalized text without differences of width and compatibility, such as ｶﾞ and ガ. Source: UAX #15, NFKC. */
export function foldWidth(normalized: string): string {
  return normalized.normalize('NFKC');
}

/** A normalized text without differences of width and case; the form in which texts are searched. */
export function foldForSearch(normalized: string): string {
  return normalized.normalize('NFKC').toLowerCase();
}

/** The code points of a folded text in which each placeholder counts as one and equals all others: for similarity. */
export function comparedCodePoints(normalized: string): number[] {
  const parts = splitPlaceholders(normalized);
  let text = '';
  for (const [index, part] of parts.entries())
    text += index % 2 === 0 ? foldForSearch(part) : PLACEHOLDER_MARK;
  return codePointsOf(text);
}

/** The code points of a text. */
export function codePointsOf(text: string): number[] {
  const points: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const point = text.codePointAt(at) ?? 0;
    if (point > 0xff_ff) at += 1;
    points.push(point);
  }
  return points;
}
