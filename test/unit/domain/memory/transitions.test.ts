import { describe, expect, it } from 'vitest';
import type { MemoryState } from '../../../../src/domain/memory/memory-record.ts';
import {
  judgeConfirmation,
  judgeRejection,
  judgeResolution,
  type Confirmation,
} from '../../../../src/domain/memory/transitions.ts';

function record(record_id: string, state: MemoryState = 'trusted', target_text: string = record_id) {
  const languages = { source_language: 'ja', target_language: 'zh-Hans' };
  return {
    record_id,
    state,
    target_text,
    source_text: 'はい',
    identity: 'i',
    superseded_by: null,
    ...languages,
  };
}

function confirm(facts: Partial<Confirmation>) {
  const base = {
    record: record('a', 'candidate'),
    rivals: [],
    superseded: null,
    force: false,
    hasReason: false,
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
    expect(confirm({ rivals: [record('b'), record('c')], superseded: record('b') })).toBe('trusted_conflict');
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
  });
});

describe('a rejection', () => {
  it.each([
    ['candidate', { ok: true, value: true }],
    ['rejected', { ok: true, value: false }],
    ['trusted', { ok: false, error: { code: 'invalid_transition' } }],
    ['superseded', { ok: false, error: { code: 'invalid_transition' } }],
  ] as const)('of a %s record', (state, expected) => {
    expect(judgeRejection(record('a', state))).toMatchObject(expected);
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
