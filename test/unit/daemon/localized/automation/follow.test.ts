import { describe, expect, test, vi } from 'vitest';
import { LOCALIZED_FOLLOW_JOB } from '../../../../../src/daemon/localized/automation/follow-job.ts';
import { createRollbackRecords } from '../../../../../src/daemon/localized/rollback/rollback-records.ts';
import { callOf } from '../../../../../src/daemon/tasks/job.ts';
import type { Task } from '../../../../../src/daemon/tasks/task.ts';
import { runToEnd } from '../../../../support/task-engine.ts';
import { createLocalizedWorld, OFFICIAL, type LocalizedWorld } from '../localized-world.ts';

const follow = async ({ engine }: LocalizedWorld): Promise<Task> =>
  await runToEnd(engine, callOf(LOCALIZED_FOLLOW_JOB, {}));

/** Makes a world in which one text is translated. */
async function withText(): Promise<LocalizedWorld> {
  const world = await createLocalizedWorld();
  world.texts.official = { ...OFFICIAL };
  world.texts.translations = { 'a.csv': { こんにちは: '你好' } };
  return world;
}

/** Makes the official release 2.0 current, with another text. */
async function nextOfficial(world: LocalizedWorld): Promise<void> {
  const files = { ...OFFICIAL, 'b.txt': '新しい' };
  world.upstream.releaseId = '2.0';
  world.upstream.files = new Map(Object.entries(files));
  world.texts.official = files;
  expect(await world.act('sync')).toMatchObject({ status: 'succeeded' });
}

describe('a localized release', () => {
  test('follows a new official release, and is compared with the previous one', async () => {
    const world = await withText();
    expect((await follow(world)).result).toMatchObject({ published: true, localized_release_id: '1.0-l1' });
    expect((await follow(world)).result).toMatchObject({ published: false, state: 'followed' });
    await nextOfficial(world);
    expect(world.attested().localized).toBeNull();
    world.texts.lostUnits = 1;
    expect(await follow(world)).toMatchObject({ status: 'failed', failure_code: 'coverage_would_fall' });
    expect(world.attested().localized).toBeNull();
    world.texts.lostUnits = 0;
    expect((await follow(world)).result).toMatchObject({ published: true, localized_release_id: '2.0-l1' });
    expect(world.attested().localized).toMatchObject({ release_id: '2.0-l1', result: 'PASSED' });
  });

  test('does not follow after a rollback, also of another base, until a publish resumes it', async () => {
    const world = await withText();
    await follow(world);
    await world.act('localized-rollback', { reviewer: 'Ada', reason: 'wrong name' });
    const stoppedBy = () => createRollbackRecords(world.database).stoppedBy();
    expect((await follow(world)).result).toMatchObject({ published: false, state: 'stopped' });
    await nextOfficial(world);
    expect((await follow(world)).result).toMatchObject({ published: false, state: 'stopped' });
    const publish = async (args: readonly string[]): Promise<Task> =>
      await world.act('localized-publish', { from_worker: true, args });
    await publish(['resume=true', 'dry_run=true']);
    expect(stoppedBy()).not.toBeNull();
    expect(await publish([])).toMatchObject({ status: 'failed', failure_code: 'release_rolled_back' });
    expect(stoppedBy()).not.toBeNull();
    // The stop is over as soon as the release is current: the state would tell it while tasks are marked.
    const whenMarked: unknown[] = [];
    vi.spyOn(world.textCalls, 'push').mockImplementation(() => whenMarked.push(stoppedBy()));
    expect((await publish(['resume=true'])).result).toMatchObject({ resumed: true });
    expect([whenMarked.at(-1), stoppedBy()]).toEqual([null, null]);
    expect((await follow(world)).result).toMatchObject({ published: false, state: 'followed' });
  });
});
