import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  carryTarget,
  type CarriedTarget,
  type CarriedTier,
} from '../../../../src/domain/translation/carry-over.ts';
import { UNIT_STATES } from '../../../../src/domain/translation/unit-state.ts';

const TIERS: readonly CarriedTier[] = ['same', 'moved', 'unique', 'changed', 'new'];

const target = fc.record({
  state: fc.constantFrom(...UNIT_STATES),
  fitsSource: fc.boolean(),
  stateBefore: fc.constantFrom('draft', 'translated', 'proofread', 'blocked', null),
}) satisfies fc.Arbitrary<CarriedTarget>;

describe('carrying a target over', () => {
  it('property: a target for another text is never kept, whatever the tier says', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TIERS), target, (tier, before) => {
        const { state } = carryTarget(tier, before);
        if (!before.fitsSource) expect(['stale', 'untranslated']).toContain(state);
        else expect(state).not.toBe('stale');
      }),
    );
  });

  it('property: a review stays only with an equal text and place, and nothing gains one', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TIERS), target, (tier, before) => {
        const { state } = carryTarget(tier, before);
        if (state !== 'proofread') return;
        expect(['same', 'moved']).toContain(tier);
        expect(before.state).toBe('proofread');
      }),
    );
  });

  it.each([
    ['same', 'proofread', 'proofread'],
    ['moved', 'proofread', 'proofread'],
    ['unique', 'proofread', 'translated'],
    ['unique', 'draft', 'draft'],
    ['unique', 'blocked', 'blocked'],
    ['same', 'draft', 'draft'],
  ] as const)('%s makes %s to %s', (tier, state, expected) => {
    expect(carryTarget(tier, { state, fitsSource: true, stateBefore: null }).state).toBe(expected);
  });

  it('gives a text that comes back at most `translated`, and a blocked one its block', () => {
    const changed = carryTarget('changed', { state: 'proofread', fitsSource: false, stateBefore: null });
    expect(changed).toEqual({ state: 'stale', stateBefore: 'proofread' });
    expect(carryTarget('changed', { ...changed, fitsSource: true })).toEqual({
      state: 'translated',
      stateBefore: null,
    });
    const blocked = carryTarget('changed', { state: 'blocked', fitsSource: false, stateBefore: null });
    expect(carryTarget('changed', { ...blocked, fitsSource: true }).state).toBe('blocked');
  });
});
