import { describe, expect, it } from 'vitest';
import type { Judging } from '../../../../src/daemon/translation/judge/judging.ts';
import { createRequalification } from '../../../../src/daemon/translation/requalify/requalification.ts';
import { NO_PROVENANCE } from '../../../../src/daemon/translation/work/target-rows.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { createTestEngine } from '../../../support/task-engine.ts';
import { judgeOf, openTranslatedTexts } from '../../../support/translated-texts.ts';
import { until } from '../../../support/until.ts';

/** The work of judging again beside a Glossary of generation 2, with the tasks that it queues. */
async function open() {
  const world = await openTranslatedTexts();
  const { engine } = createTestEngine();
  const judging = {
    judge: judgeOf(() => []),
    judgedBy: () => Promise.resolve({ key: 'key-2', generation: 2 }),
    units: world.units,
  };
  const requalification = createRequalification({
    engine,
    thread: world.thread,
    judging: judging as unknown as Judging,
    glossary: { generation: () => 2, onChanged: () => undefined },
    memory: { record: () => Promise.resolve(null) },
    onSuperseded: () => undefined,
    logger: createSilentLogger(),
  });
  engine.jobs.register(requalification.job);
  return { ...world, requalification, queued: () => engine.list(10).map(({ kind }) => kind) };
}

describe('a stored target', () => {
  it.each([
    [1, ['requalify']],
    [2, []],
    [null, []],
  ])('of generation %s of the Glossary queues %j beside generation 2', async (glossaryGeneration, kinds) => {
    const { requalification, queued } = await open();
    const provenance = { ...NO_PROVENANCE, glossaryGeneration };
    await requalification.thread.call('storeResults', { token: 't', results: [], provenance });
    const nothing = { builtFor: { releaseId: 'r1', generation: 1 }, done: [], items: [] };
    expect(queued()).toEqual(kinds);
    await requalification.thread.call('storeRepetitions', { ...nothing, glossaryGeneration });
    expect(queued()).toEqual(kinds);
  });
});

describe('the start', () => {
  it('queues the job only for targets that were judged by something else', async () => {
    const { requalification, queued, ...world } = await open();
    world.build('r1', { 'a.json': { one: 'いち' } });
    await requalification.catchUp();
    expect(queued()).toEqual([]);
    world.type('a.json', 'one', 'x');
    world.run(`UPDATE task SET judged_by = 'key-2'`);
    await requalification.catchUp();
    expect(queued()).toEqual([]);
    world.run(`UPDATE task SET judged_by = 'key-1'`);
    expect(await world.thread.call('tasksToRequalify', 'key-2')).toBe(1);
    await requalification.catchUp();
    await until(() => queued().length === 1);
  });
});
