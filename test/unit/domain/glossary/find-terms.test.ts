import { describe, expect, it } from 'vitest';
import type { Term } from '../../../../src/domain/glossary/term.ts';
import type { TermContext } from '../../../../src/domain/glossary/scope.ts';
import { diagnoseWith, testTerm } from '../../../support/glossary-terms.ts';

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
