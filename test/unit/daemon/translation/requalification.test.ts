import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Judging } from '../../../../src/daemon/translation/judge/judging.ts';
import { createRequalification } from '../../../../src/daemon/translation/requalify/requalification.ts';
import type { RepetitionBatch } from '../../../../src/daemon/translation/work/repeated-targets.ts';
import { NO_PROVENANCE } from '../../../../src/daemon/translation/work/target-rows.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { sha256, unitIdOf } from '../../../support/index-release.ts';
import { createTestEngine } from '../../../support/task-engine.ts';
import { judgeOf, openTranslatedTexts } from '../../../support/translated-texts.ts';
import { until } from '../../../support/until.ts';

/** The work of judging again beside a Glossary of generation 2, with the tasks that it queues. */
async function open() {
  const world = await openTranslatedTexts();
  const { engine } = createTestEngine();
  const listeners: Parameters<typeof engine.onFinished>[0][] = [];
  const judging = {
    judge: judgeOf(() => []),
    judgedBy: () => Promise.resolve({ key: 'key-2', generation: 2 }),
    units: world.units,
  };
  const requalification = createRequalification({
    engine: {
      submit: engine.submit.bind(engine),
      onFinished: (listener) => {
        listeners.push(listener);
      },
    },
    thread: world.thread,
    judging: judging as unknown as Judging,
    glossary: { onChanged: () => undefined },
    memory: { record: () => Promise.resolve(null) },
    onSuperseded: () => undefined,
    logger: createSilentLogger(),
  });
  engine.jobs.register(requalification.job);
  const finish = (kind: string): void => {
    for (const listener of listeners) listener({ kind, status: 'succeeded' } as never);
  };
  return { ...world, requalification, finish, queued: () => engine.list(10).map(({ kind }) => kind) };
}

/** A repetition that nothing stores, judged by something. */
const repeated = (key: string): RepetitionBatch => ({
  builtFor: { releaseId: 'r1', generation: 1 },
  done: [],
  items: [
    {
      unitId: unitIdOf('a.json', 'one'),
      revision: 0,
      sourceDigest: sha256('いち'),
      taskId: 'tt_1',
      originId: unitIdOf('a.json', 'two'),
      originRevision: 1,
      followsId: unitIdOf('a.json', 'two'),
      text: 'x',
      state: 'draft',
      sourceText: 'いち',
      findings: [],
      qaIdentity: 'gqa1_x',
      judgedBy: { key, generation: 2 },
    },
  ],
});

describe('a stored target', () => {
  it.each([
    ['key-2', []],
    ['key-2 proofread', []],
    ['key-1', ['requalify']],
  ])('that was judged by %s queues %j beside key-2', async (key, kinds) => {
    const { requalification, queued, ...world } = await open();
    world.build('r1', { 'a.json': { one: 'いち' } });
    await requalification.catchUp();
    world.type('a.json', 'one', 'x');
    await requalification.thread.call('storeRepetitions', repeated(key));
    await setImmediate();
    expect(queued()).toEqual(kinds);
  });

  it('of a run of workers beside another Glossary is judged again when the run has ended', async () => {
    const { requalification, queued, finish, ...world } = await open();
    world.build('r1', { 'a.json': { one: 'いち' } });
    await requalification.catchUp();
    world.type('a.json', 'one', 'x');
    const [item] = repeated('other').items;
    const result = { revision: 1, judgedBy: item!.judgedBy, target: item as never };
    const batch = { token: 't', results: [result], provenance: NO_PROVENANCE };
    await requalification.thread.call('storeResults', batch);
    finish('backup');
    await setImmediate();
    expect(queued()).toEqual([]);
    finish('worker-run');
    await until(() => queued().length === 1);
    expect(queued()).toEqual(['requalify']);
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
