import { assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requalify } from '../../../../src/domain/translation/requalify.ts';

describe('judging a stored target again', () => {
  it.each([
    ['proofread', null, true, { state: 'blocked', stateBefore: 'proofread' }],
    ['draft', null, true, { state: 'blocked', stateBefore: 'draft' }],
    ['translated', null, false, null],
    ['blocked', 'translated', false, { state: 'translated', stateBefore: null }],
    ['blocked', null, false, { state: 'draft', stateBefore: null }],
    ['blocked', 'proofread', true, null],
    ['stale', 'proofread', true, null],
    ['untranslated', null, true, null],
  ] as const)('%s, before %s, blocked %s', (state, stateBefore, isBlocked, expected) => {
    expect(requalify({ state, stateBefore }, isBlocked)).toEqual(expected);
  });

  it('property: a target that is blocked and freed has its state again', () => {
    assert(
      property(constantFrom('draft' as const, 'translated' as const, 'proofread' as const), (state) => {
        const blocked = requalify({ state, stateBefore: null }, true);
        expect(blocked === null ? null : requalify(blocked, false)).toEqual({ state, stateBefore: null });
      }),
    );
  });
});
