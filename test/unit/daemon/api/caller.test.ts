import { describe, expect, it } from 'vitest';
import { callerOf, checkScopes } from '../../../../src/daemon/api/caller.ts';
import { createTestSchedules } from '../../../support/schedules.ts';
import { act } from '../../../support/actions.ts';

const EVERYTHING = { tokenId: null, allow: null };

describe('the caller of a control call', () => {
  it.each([
    ['nothing', {}, EVERYTHING],
    ['an id', { 'slipway-token-id': 'mika' }, { tokenId: 'mika', allow: null }],
    [
      'an id and scopes',
      { 'slipway-token-id': 'mika', 'slipway-token-allow': 'translate,review' },
      { tokenId: 'mika', allow: ['translate', 'review'] },
    ],
    ['no scope at all', { 'slipway-token-allow': '' }, { tokenId: null, allow: [] }],
  ])('is read from %s', (_what, headers, caller) => {
    expect(callerOf(headers)).toEqual(caller);
  });

  it.each([
    ['an unknown scope', { 'slipway-token-allow': 'translate,all' }],
    ['an id with white space', { 'slipway-token-id': 'a b' }],
    ['an id that is too long', { 'slipway-token-id': 'a'.repeat(65) }],
  ])('is refused with %s', (_what, headers) => {
    expect(() => callerOf(headers)).toThrow(/is not valid/);
  });
});

describe('a token with limits', () => {
  const translator = { tokenId: 'mika', allow: ['translate'] } as const;

  it('calls the actions of its scopes, and no others', () => {
    expect(() => checkScopes(translator, 'translation-worker-run', {}, [])).not.toThrow();
    expect(() => checkScopes(EVERYTHING, 'release-cleanup', {}, [])).not.toThrow();
    expect(() => checkScopes(translator, 'localized-publish', {}, [])).toThrow(
      /token mika .* localized-publish needs publish, and the token has translate/,
    );
    expect(() => checkScopes({ ...translator, allow: [] }, 'sync', {}, [])).toThrow(
      /needs operate, and the token has nothing/,
    );
  });

  it('needs the scope of a reviewer for fields that are decisions', () => {
    expect(() => checkScopes(translator, 'translation-task-update', { status: 'pending' }, [])).not.toThrow();
    expect(() => checkScopes(translator, 'translation-task-update', { glossary_override: {} }, [])).toThrow(
      /needs review,/,
    );
  });

  it('changes and runs only schedules whose job it could run', async () => {
    const world = createTestSchedules({ started: false });
    const { schedules, engine } = world;
    const add = { id: 's', group: 'res', action: 'sync', every_seconds: 60 };
    const refused = { code: 'scope_missing' };
    await expect(act(schedules.actions, 'schedule-add', add, translator)).rejects.toMatchObject(refused);
    expect(engine.list(10)).toEqual([]);
    await world.act('schedule-add', add);
    for (const [action, body] of [
      ['schedule-update', { id: 's', enabled: false }],
      ['schedule-run', { id: 's' }],
      ['schedule-run', { group: 'res' }],
      ['schedule-remove', { id: 's' }],
    ] as const) {
      await expect(act(schedules.actions, action, body, translator)).rejects.toMatchObject(refused);
    }
    const operator = { tokenId: 'ops', allow: ['operate'] } as const;
    await act(schedules.actions, 'schedule-remove', { id: 's' }, operator);
    await expect(act(schedules.actions, 'schedule-run', { id: 's' }, translator)).rejects.toMatchObject({
      code: 'unknown_schedule',
    });
  });
});
