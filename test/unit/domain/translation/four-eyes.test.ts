import { describe, expect, it } from 'vitest';
import { isOwnWork, soleTokenOf } from '../../../../src/domain/translation/four-eyes.ts';

describe('the own work of a token', () => {
  it.each([
    ['person', 'ann', 'ann', true],
    ['import', 'ann', 'rin', false],
    ['person', null, null, true],
    ['machine', null, null, false],
    ['machine', 'ann', 'ann', true],
    ['memory', null, 'ann', false],
    ['memory', 'ann', 'ann', true],
    ['memory', 'ann', 'rin', false],
  ] as const)('a target of %s with the token %s, for %s: %s', (kind, tokenId, reviewer, isOwn) => {
    expect(isOwnWork({ kind, tokenId }, reviewer)).toBe(isOwn);
  });
});

describe('the token that alone stands for a record', () => {
  it.each([
    ['a person who confirmed the own text', { kind: 'person', tokenId: 'ann' }, ['ann'], 'ann'],
    ['a person whose text nobody confirmed', { kind: 'person', tokenId: 'ann' }, [], 'ann'],
    ['a person whose text another one confirmed', { kind: 'person', tokenId: 'ann' }, ['rin'], null],
    ['a trusted import', { kind: 'import', tokenId: 'ann' }, ['ann'], 'ann'],
    ['a program with a token', { kind: 'machine', tokenId: 'ann' }, ['ann'], 'ann'],
    ['a machine whose text a person confirmed', { kind: 'machine', tokenId: null }, ['ann'], null],
    ['a copy of a reviewed record', { kind: 'memory', tokenId: null }, ['ann'], null],
    ['a person without a token, confirmed by another', { kind: 'person', tokenId: null }, ['ann'], null],
    ['an unknown author and one reviewer', null, ['ann'], 'ann'],
    ['an unknown author and two reviewers', null, ['ann', 'rin'], null],
    ['an unknown author and no reviewer', null, [], null],
  ] as const)('%s', (_, author, confirmedBy, token) => {
    expect(soleTokenOf({ author, confirmedBy })).toBe(token);
  });
});
