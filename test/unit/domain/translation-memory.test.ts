import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distanceFrom } from '../../../src/domain/memory/edit-distance.ts';
import { judgeExact } from '../../../src/domain/memory/exact-match.ts';
import { CONTEXT_KEYS, contextKeyOf, identityOf } from '../../../src/domain/memory/identity.ts';
import {
  concordanceMatcher,
  fuzzyMatcher,
  numbersMatch,
  widthMatch,
} from '../../../src/domain/memory/inexact-match.ts';
import {
  decide,
  orderMatches,
  penalize,
  withholdReuse,
  type MatchRecord,
  type MemoryMatch,
} from '../../../src/domain/memory/memory-match.ts';
import type { MemoryState } from '../../../src/domain/memory/memory-record.ts';
import { codePointsOf } from '../../../src/domain/memory/normalize-text.ts';
import { maskNumbers, substituteNumbers } from '../../../src/domain/memory/number-match.ts';
import {
  judgeConfirmation,
  judgeRejection,
  judgeResolution,
  type Confirmation,
} from '../../../src/domain/memory/transitions.ts';
import { rarestTrigrams, searchedTrigrams, trigramsOf } from '../../../src/domain/memory/trigrams.ts';
import { normalText } from '../../../src/domain/text/normal-text.ts';
import { memoryRecord } from '../../support/memory-records.ts';

const PAIR = { source_language: 'ja', target_language: 'zh-Hans' };

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('the identity of a record', () => {
  it('property: does not depend on the order of the context, nor on keys that identify no place', () => {
    const context = fc.dictionary(fc.constantFrom(...CONTEXT_KEYS), fc.string());
    fc.assert(
      fc.property(context, fc.dictionary(fc.string({ minLength: 20 }), fc.string()), (known, other) => {
        const turned = Object.fromEntries(Object.entries({ ...other, ...known }).toReversed());
        expect(contextKeyOf(turned, digest)).toBe(contextKeyOf(known, digest));
      }),
    );
  });

  it('property: changes with every value of the context', () => {
    const value = fc.string();
    fc.assert(
      fc.property(fc.constantFrom(...CONTEXT_KEYS), value, value, (key, left, right) => {
        fc.pre(normalText(left) !== normalText(right));
        expect(contextKeyOf({ [key]: left }, digest)).not.toBe(contextKeyOf({ [key]: right }, digest));
      }),
    );
  });

  it('property: is one for texts that are equal after normalization, and differs for all others', () => {
    const text = fc.string({ unit: fc.constantFrom('か', '\u3099', 'が', '\r', '\n', 'a', ' ', 'Ａ') });
    fc.assert(
      fc.property(text, text, (left, right) => {
        const [first, second] = [normalText(left), normalText(right)];
        const isEqual = identityOf(PAIR, first, '', digest) === identityOf(PAIR, second, '', digest);
        expect(isEqual).toBe(first === second);
      }),
    );
  });

  it('differs between languages, and between a default record and one with context', () => {
    const identities = [
      identityOf(PAIR, 'はい', '', digest),
      identityOf({ ...PAIR, target_language: 'ko' }, 'はい', '', digest),
      identityOf(PAIR, 'はい', contextKeyOf({ speaker: 'A' }, digest), digest),
    ];
    expect(new Set(identities).size).toBe(3);
    expect(contextKeyOf({}, digest)).toBe('');
    expect(contextKeyOf({ note: 'x' }, digest)).toBe('');
  });
});

let made = 0;

function judge(records: readonly MatchRecord[], contextKey = '', isComplete = true): MemoryMatch[] {
  return orderMatches(judgeExact({ contextKey, records, isComplete }));
}

describe('matches of the Translation Memory', () => {
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
      expect(first).toMatchObject({
        match_type: 'exact',
        score: 100,
        decision: 'reuse',
        proposed_text: '好',
      });
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
          const reused = judge(records, contextKey, isComplete).filter(
            ({ decision }) => decision === 'reuse',
          );
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
      expect(widthMatch(record())).toMatchObject({
        match_type: 'normalized',
        score: 99,
        decision: 'suggest',
      });
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
});

/** The whole table, as in the textbook. */
function slowDistance(left: readonly number[], right: readonly number[]): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [at, point] of left.entries()) {
    const next = [at + 1];
    for (const [index, other] of right.entries()) {
      const replaced = (row[index] ?? 0) + (point === other ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

describe('distanceFrom', () => {
  it('counts code points, not UTF-16 units', () => {
    expect(distanceFrom(codePointsOf('😀a')).to(codePointsOf('😁a'), 5)).toBe(1);
  });

  it('gives null beyond the bound and the distance at it', () => {
    const distance = distanceFrom(codePointsOf('kitten'));
    expect(distance.to(codePointsOf('sitting'), 2)).toBeNull();
    expect(distance.to(codePointsOf('sitting'), 3)).toBe(3);
    expect(distance.to([], 6)).toBe(6);
    expect(distanceFrom([]).to([1, 2], 2)).toBe(2);
  });

  it('property: equals the whole table for any two texts, over one word and over several', () => {
    const text = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 100 });
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 4 }), (pattern, others) => {
        const distance = distanceFrom(pattern);
        for (const other of others) {
          const slow = slowDistance(pattern, other);
          expect(distance.to(other, slow)).toBe(slow);
          expect(distance.to(other, 1000)).toBe(slow);
          if (slow > 0) expect(distance.to(other, slow - 1)).toBeNull();
        }
      }),
    );
  });
});

describe('substituteNumbers', () => {
  it.each([
    ['第2話', '第1話', '第1话', '第2话'],
    ['２個', '１個', '1个', '2个'],
    ['2個', '1個', '１个', '２个'],
    ['1,500円から20円', '300円から10円', '从300日元到10日元', '从1,500日元到20日元'],
    ['{0}が5回', '{0}が3回', '{0}3次', '{0}5次'],
  ])('translates %s by %s', (source, knownSource, knownTarget, expected) => {
    expect(substituteNumbers({ source, knownSource, knownTarget })).toBe(expected);
  });

  it.each([
    ['the numbers of source and target differ', '2個', '1個', '3个'],
    ['the target has fewer numbers', '2個と4個', '1個と3個', '1个'],
    ['one number has two successors', '2個と4個', '1個と1個', '1个和1个'],
    ['the placeholders differ', '{1}が5回', '{0}が3回', '{0}3次'],
    ['there is no number', 'はい', 'はい', '是'],
  ])('gives nothing when %s', (_, source, knownSource, knownTarget) => {
    expect(substituteNumbers({ source, knownSource, knownTarget })).toBeNull();
  });

  it('property: the result has exactly the numbers of the source', () => {
    const numbers = fc.array(fc.nat({ max: 99 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(numbers, numbers, (before, after) => {
        fc.pre(before.length === after.length);
        const knownSource = before.map((each) => `あ${each}`).join('');
        const source = after.map((each) => `あ${each}`).join('');
        const knownTarget = before
          .toReversed()
          .map((each) => `b${each}`)
          .join('');
        const result = substituteNumbers({ source, knownSource, knownTarget });
        if (result === null) return;
        expect(maskNumbers(result).numbers.toSorted()).toEqual(maskNumbers(source).numbers.toSorted());
      }),
    );
  });
});

describe('the trigrams of a text', () => {
  describe('trigrams', () => {
    it('are three code points, each once', () => {
      expect(trigramsOf('😀ab😀ab')).toEqual(['😀ab', 'ab😀', 'b😀a']);
      expect(trigramsOf('ab')).toEqual([]);
    });

    it('are searched outside of placeholders where possible, folded', () => {
      expect(searchedTrigrams('ＡＢＣ{name}x')).toEqual(['abc']);
      expect(searchedTrigrams('a{0}b')).toEqual(['a{0', '{0}', '0}b']);
    });
  });

  describe('rarestTrigrams', () => {
    const frequencies = new Map(Object.entries({ abc: 50, bcd: 0, cde: 3, def: 10, efg: 100 }));

    it('chooses the rarest that some record has', () => {
      expect(rarestTrigrams(frequencies, { count: 2, records: 1000 })).toEqual(['cde', 'def']);
    });

    it('stays within the bound of records, and chooses at least one', () => {
      expect(rarestTrigrams(frequencies, { count: 8, records: 20 })).toEqual(['cde', 'def']);
      expect(rarestTrigrams(new Map([['abc', 50]]), { count: 8, records: 20 })).toEqual(['abc']);
      expect(rarestTrigrams(new Map([['abc', 0]]), { count: 8, records: 20 })).toEqual([]);
    });
  });
});

describe('the status of a record', () => {
  function record(record_id: string, state: MemoryState = 'trusted', target_text: string = record_id) {
    return memoryRecord({ record_id, state, target_text, source_text: 'はい', identity: 'i' });
  }

  function confirm(facts: Partial<Confirmation>) {
    const base = {
      record: record('a', 'candidate'),
      rivals: [],
      superseded: null,
      force: false,
      hasReason: false,
      isRewritten: false,
    };
    const judged = judgeConfirmation({ ...base, ...facts });
    return judged.ok ? judged.value : judged.error.code;
  }

  describe('a confirmation', () => {
    it('makes a candidate trusted, and changes nothing on a trusted record', () => {
      expect(confirm({})).toEqual({ changes: true, opensConflict: false });
      expect(confirm({ record: record('a'), rivals: [record('b')] })).toEqual({
        changes: false,
        opensConflict: false,
      });
    });

    it('is refused beside another target, unless that record is superseded or force opens a conflict', () => {
      expect(confirm({ rivals: [record('b')] })).toBe('trusted_conflict');
      expect(confirm({ rivals: [record('b', 'trusted', 'a')] })).toMatchObject({ opensConflict: false });
      expect(confirm({ rivals: [record('b')], superseded: record('b') })).toMatchObject({
        opensConflict: false,
      });
      expect(confirm({ rivals: [record('b'), record('c')], superseded: record('b') })).toBe(
        'trusted_conflict',
      );
      expect(confirm({ rivals: [record('b')], force: true })).toEqual({ changes: true, opensConflict: true });
    });

    it('supersedes only a trusted record of the same text', () => {
      expect(confirm({ superseded: record('b', 'candidate') })).toBe('trusted_conflict');
      expect(confirm({ superseded: { ...record('b'), source_text: 'いいえ' } })).toBe('trusted_conflict');
      expect(confirm({ superseded: record('a', 'trusted') })).toBe('trusted_conflict');
    });

    it.each(['superseded', 'rejected'] as const)('needs force and a reason for a %s record', (state) => {
      expect(confirm({ record: record('a', state) })).toBe('invalid_transition');
      expect(confirm({ record: record('a', state), force: true })).toBe('invalid_transition');
      expect(confirm({ record: record('a', state), force: true, hasReason: true })).toMatchObject({
        changes: true,
      });
      const rewritten = { record: record('a', state), isRewritten: true };
      expect(confirm(rewritten)).toMatchObject({ changes: true });
      expect(confirm({ ...rewritten, rivals: [record('b')] })).toBe('trusted_conflict');
    });
  });

  describe('a rejection', () => {
    it.each([
      ['candidate', { ok: true, value: true }],
      ['rejected', { ok: true, value: false }],
      ['trusted', { ok: false, error: { code: 'invalid_transition' } }],
      ['superseded', { ok: false, error: { code: 'invalid_transition' } }],
    ] as const)('of a %s record', (state, expected) => {
      expect(judgeRejection(record('a', state), false)).toMatchObject(expected);
    });

    it('of a trusted record needs a reviewer who names it', () => {
      expect(judgeRejection(record('a', 'trusted'), true)).toEqual({ ok: true, value: true });
      expect(judgeRejection(record('a', 'superseded'), true)).toMatchObject({
        error: { message: 'a is superseded already, so it is not reused' },
      });
    });
  });

  describe('a resolution', () => {
    const facts = {
      winnerId: 'a',
      expectedIds: ['a', 'b'],
      expected: [record('a'), record('b')],
      trustedIds: ['b', 'a'],
    };

    it('supersedes all but the winner', () => {
      expect(judgeResolution(facts)).toEqual({ ok: true, value: ['b'] });
    });

    it('is refused when the group is not the expected one', () => {
      for (const changed of [
        { trustedIds: ['a', 'b', 'c'] },
        { trustedIds: ['a'] },
        { expected: [record('a'), { ...record('b'), identity: 'other' }] },
      ]) {
        expect(judgeResolution({ ...facts, ...changed })).toMatchObject({
          error: { code: 'conflict_group_changed' },
        });
      }
      expect(judgeResolution({ ...facts, expected: [record('a')] })).toMatchObject({
        error: { code: 'unknown_record' },
      });
    });

    it('changes nothing when it is repeated', () => {
      const loser = { ...record('b', 'superseded'), superseded_by: 'a' };
      expect(judgeResolution({ ...facts, expected: [record('a'), loser], trustedIds: ['a'] })).toEqual({
        ok: true,
        value: [],
      });
    });
  });
});
