import { describe, expect, it } from 'vitest';
import { callerOf, checkScopes } from '../../../../src/daemon/api/caller.ts';
import type { Caller } from '../../../../src/contract/actions/control-scopes.ts';
import { TEXT_DIFFERENCES_JOB } from '../../../../src/daemon/parse/parse-jobs.ts';
import { MEMORY_IMPORT_JOB } from '../../../../src/daemon/memory/memory-exchange-jobs.ts';
import { implementJob } from '../../../../src/daemon/tasks/job.ts';
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

  it('compares the texts of two releases without a scope, and nothing else with its schedule', async () => {
    const world = createTestSchedules({ started: false });
    const { schedules, engine } = world;
    engine.jobs.register(implementJob(TEXT_DIFFERENCES_JOB, async () => ({})));
    const reader: Caller = { tokenId: 'kai', allow: [] };
    const run = async (name: string, body: object) => await act(schedules.actions, name, { ...body }, reader);
    const args = ['from=r1', 'to=r2'];
    const add = { id: 'd', group: 'parse', action: 'text-differences', max_runs: 1, delay_seconds: 60, args };
    await run('schedule-add', add);
    await run('schedule-run', { id: 'd' });
    expect(engine.list(10).map(({ kind }) => kind)).toContain('text-differences');
    const other = { id: 'd', group: 'res', action: 'sync', args: [] };
    await expect(run('schedule-update', other)).rejects.toMatchObject({ code: 'scope_missing' });
    await run('schedule-remove', { id: 'd' });
  });

  it('needs the scope of a reviewer for schedules whose arguments are decisions', async () => {
    const world = createTestSchedules({ started: false });
    const { schedules, engine } = world;
    engine.jobs.register(implementJob(MEMORY_IMPORT_JOB, async () => ({})));
    const reviewer = { tokenId: 'ann', allow: ['translate', 'review'] } as const;
    const run = async (name: string, body: object, caller: Caller) =>
      await act(schedules.actions, name, { ...body }, caller);
    const add = { id: 's', group: 'i18n', action: 'memory-import', every_seconds: 60 };
    const trusted = { args: ['file=a.tmx', 'trusted=true'] };
    const refused = { code: 'scope_missing' };
    await expect(run('schedule-add', { ...add, ...trusted }, translator)).rejects.toMatchObject(refused);
    await run('schedule-add', { ...add, args: ['file=a.tmx', 'trusted=false'] }, translator);
    await expect(run('schedule-update', { id: 's', ...trusted }, translator)).rejects.toMatchObject(refused);
    await run('schedule-update', { id: 's', ...trusted }, reviewer);
    await expect(run('schedule-run', { id: 's' }, translator)).rejects.toMatchObject(refused);
    await run('schedule-run', { id: 's' }, reviewer);
  });
});
