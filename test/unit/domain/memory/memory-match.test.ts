import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeExact } from '../../../../src/domain/memory/exact-match.ts';
import {
  concordanceMatcher,
  fuzzyMatcher,
  numbersMatch,
  widthMatch,
} from '../../../../src/domain/memory/inexact-match.ts';
import {
  decide,
  orderMatches,
  penalize,
  withholdReuse,
  type MatchRecord,
  type MemoryMatch,
} from '../../../../src/domain/memory/memory-match.ts';

let made = 0;

function record(fields: Partial<MatchRecord> = {}): MatchRecord {
  made += 1;
  return {
    record_id: `tm_${String(made).padStart(4, '0')}`,
    state: 'trusted',
    source_text: 'はい',
    target_text: '是',
    context_key: '',
    is_default: false,
    ...fields,
  };
}

function judge(records: readonly MatchRecord[], contextKey = '', isComplete = true): MemoryMatch[] {
  return orderMatches(judgeExact({ contextKey, records, isComplete }));
}

describe('exact matches', () => {
  it('reuses the trusted record of the same context with 101, before the default', () => {
    const [first, second] = judge(
      [record({ is_default: true, target_text: '好' }), record({ context_key: 'k', target_text: '是' })],
      'k',
    );
    expect(first).toMatchObject({
      match_type: 'context',
      score: 101,
      decision: 'reuse',
      proposed_text: '是',
    });
    expect(second).toMatchObject({
      match_type: 'exact',
      score: 95,
      decision: 'suggest',
      penalties: [{ code: 'other_context', points: 5 }],
    });
  });

  it('reuses the default with 100, whatever other contexts say', () => {
    const [first] = judge(
      [record({ is_default: true, target_text: '好' }), record({ context_key: 'k', target_text: '是' })],
      'other',
    );
    expect(first).toMatchObject({ match_type: 'exact', score: 100, decision: 'reuse', proposed_text: '好' });
  });

  it('reuses records of other contexts only when all of them are known and have one target', () => {
    const agreeing = [record({ context_key: 'a' }), record({ context_key: 'b' })];
    expect(judge(agreeing, 'k').map(({ score, decision }) => [score, decision])).toEqual([
      [100, 'reuse'],
      [100, 'reuse'],
    ]);
    expect(decide(judge(agreeing, 'k', false))).toBe('conflict');
    const differing = judge([...agreeing, record({ context_key: 'c', target_text: '好' })], 'k');
    expect(differing.map(({ score, decision }) => [score, decision])).toEqual([
      [99, 'conflict'],
      [99, 'conflict'],
      [99, 'conflict'],
    ]);
    expect(differing[0]?.penalties).toEqual([{ code: 'multiple_translations', points: 1 }]);
  });

  it('makes a conflict of two trusted records of one context', () => {
    const matches = judge(
      [
        record({ context_key: 'k' }),
        record({ context_key: 'k', target_text: '好' }),
        record({ is_default: true }),
      ],
      'k',
    );
    expect(decide(matches)).toBe('conflict');
    expect(matches[0]?.penalties).toEqual([{ code: 'multiple_translations', points: 2 }]);
  });

  it('suggests a candidate with 70', () => {
    expect(judge([record({ state: 'candidate' })])).toMatchObject([
      { score: 70, decision: 'suggest', penalties: [{ code: 'candidate', points: 30 }] },
    ]);
  });

  it('property: reuses nothing below 100, only trusted records, and only when their targets are one', () => {
    const text = fc.constantFrom('是', '好');
    const key = fc.constantFrom('', 'a', 'b');
    const any = fc.record({
      state: fc.constantFrom('trusted', 'candidate'),
      target_text: text,
      context_key: key,
      is_default: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 6 }), key, fc.boolean(), (parts, contextKey, isComplete) => {
        const records = parts.map((part) => record(part as Partial<MatchRecord>));
        const reused = judge(records, contextKey, isComplete).filter(({ decision }) => decision === 'reuse');
        for (const match of reused) {
          expect(match.score).toBeGreaterThanOrEqual(100);
          expect(match.record.state).toBe('trusted');
        }
        expect(new Set(reused.map(({ proposed_text }) => proposed_text)).size).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('penalties', () => {
  it('end the reuse of a match that falls below 100', () => {
    const [match] = judge([record({ context_key: 'k' })], 'k');
    expect(match && penalize(match, 'file', 1)).toMatchObject({ score: 100, decision: 'reuse' });
    expect(match && penalize(match, 'file', 2)).toMatchObject({ score: 99, decision: 'suggest' });
    expect(match && withholdReuse(match)).toMatchObject({
      score: 99,
      decision: 'suggest',
      penalties: [{ code: 'qa_blocked', points: 2 }],
    });
  });
});

describe('inexact matches', () => {
  it('score a difference of width 99 and never reuse it', () => {
    expect(widthMatch(record())).toMatchObject({ match_type: 'normalized', score: 99, decision: 'suggest' });
  });

  it('offer the target with the numbers of the query', () => {
    const known = record({ source_text: '残り10日と3時間', target_text: '还剩10天3小时' });
    expect(numbersMatch('残り7日と12時間', known)).toMatchObject({
      match_type: 'numbers',
      score: 98,
      decision: 'suggest',
      proposed_text: '还剩7天12小时',
    });
    expect(numbersMatch('残り7日と12分', known)).toBeNull();
  });

  it('score the similarity of code points, with placeholders counted as one', () => {
    const match = fuzzyMatcher(
      'こんにちは、{name}さん',
      '',
    )(record({ source_text: 'こんにちは、{playerName}さま', is_default: true }));
    expect(match).toMatchObject({ match_type: 'fuzzy', score: 88, decision: 'suggest', penalties: [] });
    expect(fuzzyMatcher('こんにちは', '')(record({ source_text: 'さようなら' }))).toBeNull();
  });

  it('lower the score of candidates and of other contexts after the threshold', () => {
    const known = record({ state: 'candidate', source_text: 'abcdefgh', context_key: 'k' });
    expect(fuzzyMatcher('abcdefgx', 'other')(known)).toMatchObject({
      score: 57,
      penalties: [
        { code: 'candidate', points: 27 },
        { code: 'other_context', points: 3 },
      ],
    });
  });

  it('property: a text that is not equal never scores 100', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'B', 'b', 'Ｂ', '{0}', '{1}', '1') });
    fc.assert(
      fc.property(text, text, (source, known) => {
        fc.pre(source !== known);
        const match = fuzzyMatcher(source, '')(record({ source_text: known, is_default: true }));
        expect(match?.score ?? 0).toBeLessThan(100);
        expect(match?.decision ?? 'suggest').toBe('suggest');
      }),
    );
  });

  it('find a searched text in the source or the target', () => {
    const known = record({ source_text: 'ＡＢＣ学園', target_text: 'abc学院' });
    expect(concordanceMatcher('学院')(known)).toMatchObject({ match_type: 'concordance', score: 40 });
    expect(concordanceMatcher('abc学園')(known)?.score).toBe(100);
    expect(concordanceMatcher('学校')(known)).toBeNull();
  });
});
