import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldText } from '../../../../src/domain/glossary/fold.ts';

/** The planes with characters; the others have none, or private ones. */
const ASSIGNED = [
  [0, 0x3_3480],
  [0xe_0000, 0xe_0200],
] as const;
/** Characters that fold in unusual ways, and pieces of them. */
const ODD = [
  ...Array.from('かﾊﾞ゙ﾞ㍿ﬁİΣςÅＡ１②…ー・ｱ가\u1100\u1161\u11a8\u3131\u314f\u0301\u0323\u{16d63}'),
  '\u{1f600}',
  '\ud800',
  '\udc00',
  '\r\n',
];
const oddText = fc.array(fc.oneof(fc.constantFrom(...ODD), fc.string({ unit: 'binary' })), { maxLength: 12 });

function reference(text: string): string {
  return text.normalize('NFKC').toLowerCase().replaceAll('ς', 'σ');
}

describe('foldText', () => {
  it.each([
    ['ＡＢＣ', 'abc'],
    ['ｶﾞｰﾃﾞﾝ', 'ガーデン'],
    ['か\u3099', 'が'],
    ['㍿', '株式会社'],
    ['…', '...'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['Ａは先生', 'aは先生'],
  ])('folds %s to %s', (text, folded) => {
    expect(foldText(text).text).toBe(folded);
  });

  it('folds every character, alone and before and behind others, as NFKC and lower case do', () => {
    const wrong: string[] = [];
    for (const [first, end] of ASSIGNED) {
      for (let code = first; code < end; code += 1) {
        const character = String.fromCodePoint(code);
        const text = `が${character}か\u3099\u1100${character}\u1161`;
        if (foldText(text).text !== reference(text)) wrong.push(code.toString(16));
      }
    }
    expect(wrong).toEqual([]);
  });

  it('maps every part back to the part of the original that folds to it', () => {
    fc.assert(
      fc.property(oddText, (pieces) => {
        const text = pieces.join('');
        const folded = foldText(text);
        expect(folded.text).toBe(reference(text));
        let end = 0;
        for (let index = 0; index < folded.text.length; index += 1) {
          const [from, to] = [folded.originalStart(index), folded.originalEnd(index)];
          const isNewPart = from === end;
          expect(isNewPart || to === end).toBe(true);
          end = to;
          const part = reference(text.slice(from, to));
          expect(part).toContain(folded.text[index]);
        }
        expect(end).toBe(text.length);
      }),
      { numRuns: 2000 },
    );
  });

  it('takes time in proportion to the text', () => {
    const marks = `a${'\u0301'.repeat(50_000)}`;
    expect(foldText(marks).text).toBe(reference(marks));
    expect(foldText('Ａ'.repeat(100_000)).text).toBe('a'.repeat(100_000));
  });
});
