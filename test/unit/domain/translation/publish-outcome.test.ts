import { describe, expect, it } from 'vitest';
import {
  countedUnits,
  coverageOf,
  noOutcomes,
  publishOutcome,
} from '../../../../src/domain/translation/publish-outcome.ts';

const FREE = { isHeld: false, isSkipped: false };

describe('a unit in a localized release', () => {
  it.each([
    ['proofread', 'proofread', 'published'],
    ['translated', 'proofread', 'below_min_state'],
    ['translated', 'translated', 'published'],
    ['draft', 'translated', 'below_min_state'],
    ['draft', 'draft', 'published'],
    ['stale', 'draft', 'stale'],
    ['untranslated', 'draft', 'untranslated'],
    ['blocked', 'draft', 'blocked'],
  ] as const)('that is %s is, with the minimum %s, %s', (state, minState, outcome) => {
    expect(publishOutcome({ ...FREE, state }, minState)).toBe(outcome);
  });

  it.each([
    ['draft', 'translated', 'below_min_state'],
    ['translated', 'proofread', 'below_min_state'],
    ['translated', 'translated', 'blocked'],
    ['proofread', 'draft', 'blocked'],
  ] as const)('that is blocked, and else %s, is with the minimum %s %s', (freeState, minState, outcome) => {
    expect(publishOutcome({ ...FREE, state: 'blocked', freeState }, minState)).toBe(outcome);
  });

  it('blocks nothing when people took it out', () => {
    expect(publishOutcome({ state: 'blocked', isHeld: true, isSkipped: false }, 'draft')).toBe('held');
    expect(publishOutcome({ state: 'blocked', isHeld: true, isSkipped: true }, 'draft')).toBe('skipped');
    expect(publishOutcome({ state: 'proofread', isHeld: true, isSkipped: false }, 'draft')).toBe('held');
  });
});

describe('the coverage of a localized release', () => {
  it('does not count the units of skipped tasks', () => {
    const counts = { ...noOutcomes(), published: 3, held: 1, skipped: 10 };
    expect(countedUnits(counts)).toBe(4);
    expect(coverageOf(counts)).toBe(0.75);
  });

  it('is whole without any unit', () => {
    expect(coverageOf(noOutcomes())).toBe(1);
  });
});
