import { expect, it } from 'vitest';
import { CONSOLE_FILES, CONSOLE_RELEASES } from '../support/console-release.ts';
import { consoleToken, startConsoleWorld, startUnitsWorld } from '../support/console-world.ts';
import { isLong } from '../support/long.ts';

it('the world of the console has every state that its pages show', async () => {
  const { read, act, system } = await startConsoleWorld();
  const [first, second] = CONSOLE_RELEASES;
  const told = async (): Promise<unknown> => {
    const { items: tasks } = await read('translation.tasks', { release_id: second });
    return Object.fromEntries(
      tasks.map(({ destination, status, worker_status: worker, lease_owner: owner }) => [
        destination,
        [status, worker, owner],
      ]),
    );
  };
  // Terms and runs are followed in the background.
  await expect.poll(told).toEqual({
    [CONSOLE_FILES.published]: ['published', 'idle', null],
    [CONSOLE_FILES.stale]: ['in_progress', 'idle', null],
    [CONSOLE_FILES.drafts]: ['in_progress', 'idle', null],
    [CONSOLE_FILES.leased]: ['in_progress', 'leased', 'worker-1'],
    [CONSOLE_FILES.pending]: ['pending', 'cancelled', null],
    [CONSOLE_FILES.held]: ['in_progress', 'idle', null],
    [CONSOLE_FILES.glossary]: ['blocked', 'idle', null],
    [CONSOLE_FILES.blocked]: ['blocked', 'idle', null],
    [CONSOLE_FILES.translated]: ['translated', 'idle', null],
    [CONSOLE_FILES.proofread]: ['proofread', 'idle', null],
    [CONSOLE_FILES.failed]: ['failed', 'idle', null],
    [CONSOLE_FILES.skipped]: ['skipped', 'idle', null],
  });
  await expect
    .poll(async () => await read('translation.status'))
    .toMatchObject({
      current: { localized_release_id: `${second}-l2`, base_release_id: second },
      automation: { state: 'followed' },
      coverage: { blocked: 4, by_state: { stale: 10 } },
      history: [{}, { localized_release_id: `${second}-l1` }, { localized_release_id: `${first}-l1` }],
    });
  expect((await read('translation.handoff')).releases[0]).toMatchObject({ held_total: 2 });
  expect(await read('parse.status')).toMatchObject({
    carry_over: { moved: 3, unique: 1, changed: 10 },
  });
  expect((await read('translation.memory.summary')).counts).toMatchObject({ conflict_groups: 2 });
  expect((await read('translation.glossary.summary')).counts).toEqual({
    draft: 2,
    approved: 6,
    deprecated: 1,
    rejected: 1,
  });
  const ends = async (): Promise<readonly string[]> =>
    (await read('task.list')).items.map(({ kind, status }) => `${kind} ${status}`);
  await expect
    .poll(ends)
    .toEqual(expect.arrayContaining(['worker-run running', 'worker-run cancelled', 'memory-import failed']));
  await expect(act('operate', 'translation-proofread', {})).rejects.toThrow('403');
  const open = await fetch(`${system.serverUrl}/admin/`, {
    headers: { authorization: `Bearer ${consoleToken('translate')}` },
  });
  expect(open.status).toBe(200);
});

it('a world of many units has them in tasks', async () => {
  const size = isLong ? { units: 1_000_000, containers: 400 } : { units: 4000, containers: 16 };
  const { read } = await startUnitsWorld(size);
  expect(await read('translation.tasks', { limit: '1', status: 'pending' })).toMatchObject({
    items: [{ release_id: expect.any(String) as string }],
  });
  const last = { limit: '1', offset: String(size.units - 1) };
  expect(await read('parse.text_units', last)).toMatchObject({ total: size.units, next_offset: null });
});
