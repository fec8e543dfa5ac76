import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAutomaton } from '../../../src/domain/glossary/automaton.ts';
import { foldText } from '../../../src/domain/glossary/fold.ts';
import type { TermContext } from '../../../src/domain/glossary/scope.ts';
import type { Term } from '../../../src/domain/glossary/term.ts';
import { diagnoseWith, testTerm } from '../../support/glossary-terms.ts';
import { campaignSize } from '../../support/long.ts';

type Found = readonly [pattern: number, end: number];

function search(patterns: readonly string[], text: string): Found[] {
  const found: Found[] = [];
  createAutomaton(patterns).find(text, (pattern, end) => found.push([pattern, end]));
  return found;
}

/** At every end, the patterns that end there, the longest first. */
function naive(patterns: readonly string[], text: string): Found[] {
  const longestFirst = patterns
    .map((pattern, index) => ({ pattern, index }))
    .sort((left, right) => right.pattern.length - left.pattern.length);
  return Array.from({ length: text.length + 1 }, (_, end) =>
    longestFirst
      .filter(({ pattern }) => end >= pattern.length && text.slice(end - pattern.length, end) === pattern)
      .map(({ index }): Found => [index, end]),
  ).flat();
}

function word(letters: string, least: number, most: number): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...Array.from(letters)), minLength: least, maxLength: most });
}

describe('createAutomaton', () => {
  it('finds what a naive search finds, in its order', () => {
    const patterns = fc.uniqueArray(fc.oneof(word('ab', 1, 6), word('abcdefghijあア先', 1, 3)), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(
        patterns,
        fc.oneof(word('ab', 0, 60), word('abcdefghijあア先', 0, 60)),
        (patterns, text) => {
          expect(search(patterns, text)).toEqual(naive(patterns, text));
        },
      ),
      { numRuns: campaignSize(300, 10_000) },
    );
  });

  it.each([
    ['no patterns', [], 'abc', []],
    ['an empty text', ['a'], '', []],
    [
      'patterns inside of each other',
      ['she', 'he', 'hers', 'e'],
      'ushers',
      [
        [0, 4],
        [1, 4],
        [3, 4],
        [2, 6],
      ],
    ],
    [
      'halves of a surrogate pair',
      ['\ud83d', '\ude00'],
      '\u{1f600}',
      [
        [0, 1],
        [1, 2],
      ],
    ],
  ] as const)('handles %s', (_, patterns, text, expected) => {
    expect(search(patterns, text)).toEqual(expected);
  });

  it('finds what a naive search finds in a wide alphabet with many patterns', () => {
    // Few first characters have hundreds of children, and most have a few: their places are packed between each other.
    const letter = (index: number): string => String.fromCharCode(0x4e00 + ((index * 7919) % 997));
    const patterns = Array.from(
      { length: 4000 },
      (_, index) =>
        letter(index % (index % 3 === 0 ? 5 : 600)) +
        letter(index) +
        (index % 4 === 0 ? letter(index * index) : ''),
    );
    const distinct = [...new Set(patterns)];
    const text = Array.from({ length: 300 }, (_, index) => distinct[(index * 31) % distinct.length]).join('');
    expect(search(distinct, text)).toEqual(naive(distinct, text));
  });

  it('has states with more children than are looked at one by one', () => {
    const patterns = Array.from({ length: 3000 }, (_, index) => `あ${String.fromCharCode(0x4e00 + index)}`);
    const text = patterns.join('');
    expect(search(patterns, text)).toEqual(patterns.map((_, index) => [index, 2 * index + 2]));
  });
});

/** The matches of a text as `id@start-end`, and the shadowed terms as `id<winner`. */
function found(terms: readonly Term[], text: string, context: TermContext = {}, source = 'ja'): string[] {
  const pair = { sourceLanguage: source, targetLanguage: 'zh-Hans' };
  const ofPair = terms.map((term) => ({ ...term, ...pair }));
  const { constraints, diagnostics } = diagnoseWith(ofPair, text, null, { context, pair });
  return [
    ...constraints.map(({ term, span }) => `${term.termId}@${span.start}-${span.end}`),
    ...diagnostics
      .filter(({ code }) => code === 'shadowed_term')
      .map(({ terms }) => terms.map(({ termId }) => termId).join('<')),
  ];
}

describe('terms in a text', () => {
  describe('the boundaries of terms', () => {
    it.each([
      ['ja', 'アル', 'アルバイト', []],
      ['ja', 'アル', 'アルーな', []],
      ['ja', 'アル', 'アルは、アル・ポン', ['アル@0-2', 'アル@4-6']],
      ['ja', 'バイト', 'アルバイト', []],
      ['ja', '先生', '大先生方', ['先生@1-3']],
      ['ja', 'HP', 'HPが10', ['HP@0-2']],
      ['ja', 'HP', 'ＭＡＸＨＰ', []],
      ['ja', '10', '2010年', []],
      ['ja', 'アル', 'ｱﾙは', ['アル@0-2']],
      ['en', 'art', 'the art of party, Art.', ['art@4-7', 'art@18-21']],
      ['en', 'art', 'art_x', []],
      ['zh-Hant', '老師', '大老師們', ['老師@1-3']],
    ])('in %s: %s in %s', (language, term, text, expected) => {
      expect(found([testTerm(term, 'x')], text, {}, language)).toEqual(expected);
    });

    it('do not count for a term whose scope says so', () => {
      expect(found([testTerm('アル', 'x', { scope: { match: 'substring' } })], 'アルバイト')).toEqual([
        'アル@0-2',
      ]);
    });

    it('see characters beyond the basic plane', () => {
      expect(found([testTerm('x', 'y')], '\u{1d400}x')).toEqual([]);
      expect(found([testTerm('x', 'y')], '\u{1f600}x\u{1f600}')).toEqual(['x@2-3']);
    });
  });

  describe('finding terms', () => {
    it('finds source term and aliases, folded, with offsets of the original', () => {
      const term = testTerm('ガーデン', 'x', { aliases: ['庭園', 'GARDEN'] });
      expect(found([term], '…ｶﾞｰﾃﾞﾝと庭園とｇａｒｄｅｎ')).toEqual([
        'ガーデン@1-7',
        'ガーデン@8-10',
        'ガーデン@11-17',
      ]);
    });

    it('finds nothing in placeholders and tags, and terms beside them', () => {
      expect(found([testTerm('name', 'x'), testTerm('色', 'y')], '{name}<b>name{0}色</b>')).toEqual([
        'name@9-13',
        '色@16-17',
      ]);
      expect(found([testTerm('色', 'x')], '<color=色>色</color>')).toEqual(['色@9-10']);
    });

    it('leaves out rejected terms and those of other pairs', () => {
      const rejected = testTerm('先生', 'x', { reviewStatus: 'rejected' });
      expect(
        diagnoseWith([rejected, testTerm('先生', 'x', { targetLanguage: 'en' })], '先生').constraints,
      ).toEqual([]);
    });
  });

  describe('the scope of a term', () => {
    it.each<[Term['scope'], TermContext, boolean]>([
      [{}, { speaker: 'アル' }, true],
      [{ speaker: 'アル' }, { speaker: 'アル', scene: '1' }, true],
      [{ speaker: 'アル' }, { speaker: 'ムツキ' }, false],
      [{ speaker: 'アル' }, {}, false],
      [{ speaker: 'アル', scene: '1' }, { speaker: 'アル' }, false],
      [{ speaker: '???' }, { speaker: '???' }, true],
      [{ speaker: '???' }, { speaker: 'abc' }, false],
      [{ destination: 'Tables/*.zip' }, { destination: 'Tables/Excel.v2.zip' }, true],
      [{ destination: 'Tables/*.zip' }, { destination: 'Tables/a/b.zip' }, false],
      [{ destination: 'Tables/**' }, { destination: 'Tables/a/b.zip' }, true],
      [{ destination: 'Tables/?.zip' }, { destination: 'Tables/a.zip' }, true],
      [{ toString: 'x' }, {}, false],
    ])('%o in %o: %s', (scope, context, isFound) => {
      expect(found([testTerm('先生', 'x', { scope })], '先生', context)).toEqual(isFound ? ['先生@0-2'] : []);
    });
  });

  describe('terms that overlap', () => {
    const id = (termId: string, other: Partial<Term> = {}): Term =>
      testTerm('先生', termId, { termId, ...other });

    it.each<[string, readonly Term[], readonly string[]]>([
      [
        'the longest first',
        [testTerm('シャーレの先生', 'x'), testTerm('先生', 'y')],
        ['シャーレの先生@0-7', '先生<シャーレの先生'],
      ],
      ['the higher priority', [id('a'), id('b', { priority: 2n ** 60n })], ['b@5-7', 'a<b']],
      ['the narrower scope', [id('a'), id('b', { scope: { speaker: 'アル' } })], ['b@5-7', 'a<b']],
      ['the approved one', [id('a', { reviewStatus: 'draft' }), id('b')], ['b@5-7', 'a<b']],
      [
        'the smaller id',
        [id('b', { reviewStatus: 'draft' }), id('a', { reviewStatus: 'draft' })],
        ['a@5-7', 'b<a'],
      ],
      [
        'the longest of a chain',
        [testTerm('の先', 'x'), testTerm('先生', 'y'), testTerm('シャーレの', 'z')],
        ['シャーレの@0-5', '先生@5-7', 'の先<シャーレの'],
      ],
    ])('%s counts', (_, terms, expected) => {
      expect(found(terms, 'シャーレの先生', { speaker: 'アル' })).toEqual(expected);
      expect(found(terms.toReversed(), 'シャーレの先生', { speaker: 'アル' })).toEqual(expected);
    });

    it('a deprecated term stands beside the approved one, and is shadowed inside of a longer one', () => {
      const old = id('old', { reviewStatus: 'deprecated' });
      expect(found([old, id('new')], '先生')).toEqual(['new@0-2', 'old@0-2']);
      expect(found([old, testTerm('大先生', 'x')], '大先生')).toEqual(['大先生@0-3', 'old<大先生']);
    });
  });
});

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
      { numRuns: campaignSize(300, 10_000) },
    );
  });

  it('takes time in proportion to the text', () => {
    const marks = `a${'\u0301'.repeat(50_000)}`;
    expect(foldText(marks).text).toBe(reference(marks));
    expect(foldText('Ａ'.repeat(100_000)).text).toBe('a'.repeat(100_000));
  });
});
