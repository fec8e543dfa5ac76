import { foldedForm } from './folded-form.ts';

/** A text in the form in which terms are compared, and the way back to the text. */
export interface FoldedText {
  readonly text: string;
  /** The offset in the original of the part that a folded UTF-16 unit comes from. */
  originalStart(index: number): number;
  /** The offset behind that part. */
  originalEnd(index: number): number;
}

/** Characters that fold together with the previous one: marks, and the vowels and finals of Hangul and Kirat Rai. */
const CONTINUATION = /^[\p{M}\u1160-\u11ff\ud7b0-\ud7ff\u{16d63}\u{16d67}]/u;

const UNKNOWN = -1;
const NOT_SIMPLE = -2;
/** By UTF-16 unit: what it folds to, when that is one unit and does not depend on its neighbours. Filled as needed. */
const simpleFolds = new Int32Array(0x1_0000).fill(UNKNOWN);

/**
 * Folds a text: compatibility characters become plain ones (NFKC) and capitals become small. Marks stay. The two small
 * sigmas are one letter here, so that the fold of a part does not depend on what follows it.
 *
 * Source: Unicode Standard Annex 15, sections 1.2 and 9 (concatenation and boundaries of normalized text).
 */
export function foldText(text: string): FoldedText {
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (simpleFoldOf(unit) !== unit) return foldParts(text);
  }
  return { text, originalStart: (index) => index, originalEnd: (index) => index + 1 };
}

function foldParts(text: string): FoldedText {
  const starts: number[] = [];
  const ends: number[] = [];
  let folded = '';
  for (let start = 0; start < text.length;) {
    const end = endOfPart(text, start);
    const simple = end === start + 1 ? simpleFoldOf(text.charCodeAt(start)) : NOT_SIMPLE;
    const part = simple < 0 ? foldedForm(text.slice(start, end)) : String.fromCharCode(simple);
    for (let unit = 0; unit < part.length; unit += 1) {
      starts.push(start);
      ends.push(end);
    }
    folded += part;
    start = end;
  }
  return {
    text: folded,
    originalStart: (index) => starts[index] ?? text.length,
    originalEnd: (index) => ends[index] ?? text.length,
  };
}

function endOfPart(text: string, start: number): number {
  let end = start + widthAt(text, start);
  while (end < text.length) {
    if (simpleFoldOf(text.charCodeAt(end)) >= 0) return end;
    const next = end + widthAt(text, end);
    if (!continues(text.slice(end, next))) return end;
    end = next;
  }
  return end;
}

function widthAt(text: string, index: number): number {
  return (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
}

function simpleFoldOf(unit: number): number {
  const known = simpleFolds[unit] ?? UNKNOWN;
  if (known !== UNKNOWN) return known;
  const character = String.fromCharCode(unit);
  const folded = foldedForm(character);
  const isSurrogate = unit >= 0xd800 && unit < 0xe000;
  const isSimple = folded.length === 1 && !isSurrogate && !continues(character);
  const result = isSimple ? folded.charCodeAt(0) : NOT_SIMPLE;
  simpleFolds[unit] = result;
  return result;
}

function continues(character: string): boolean {
  return CONTINUATION.test(character.normalize('NFKC'));
}
