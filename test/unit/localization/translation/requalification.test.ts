import { partial } from '../../../support/partial.ts';
import { setImmediate } from 'node:timers/promises';
import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskEngine } from '../../../../src/engine/tasks/task-engine.ts';
import type { TranslationMemory } from '../../../../src/localization/memory/translation-memory.ts';
import type { TaskContext } from '../../../../src/engine/tasks/task.ts';
import type { Judging } from '../../../../src/localization/translation/judge/judging.ts';
import {
  createRequalification,
  requalifyTargets,
} from '../../../../src/localization/translation/requalify/requalification.ts';
import { createEvents } from '../../../../src/engine/events/events.ts';
import type { TextEvent } from '../../../../src/localization/text-events.ts';
import type {
  TranslationStore,
  TranslationThread,
} from '../../../../src/localization/translation/work/translation-worker.ts';
import { aroundCalls } from '../../../support/caller-in-process.ts';
import { writeReason } from '../../../../src/localization/translation/work/repetition/requalified-reason.ts';
import { openWork } from '../../../../src/localization/translation/work/store/work.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { indexRelease, unitIdOf } from '../../../support/index-release.ts';
import { createTestEngine } from '../../../support/task-engine.ts';
import {
  blockingFinding,
  judgeOf,
  judgedByGeneration,
  openTranslatedTexts,
  type TestTexts,
  type TranslatedTexts,
} from '../../../support/translated-texts.ts';
import { openTestWork, rowsOf } from '../../../support/translation-work.ts';
import { until } from '../../../support/until.ts';

const TEXTS: TestTexts = {
  'a.json': { one: 'いち', two: 'に', three: 'さん' },
  'b.json': { four: 'よん' },
};
const UNITS = Object.entries(TEXTS).flatMap(([file, units]) =>
  Object.keys(units).map((key) => [file, key] as const),
);

/** Words that block a target; they change as terms of the Glossary do. */
interface Words {
  forbidden: readonly string[];
  generation: number;
}

function setState(world: TranslatedTexts, file: string, key: string, state: string): void {
  world.run(`UPDATE target SET state = '${state}' WHERE unit_id = x'${unitIdOf(file, key).toString('hex')}'`);
}

const currentTask = (world: TranslatedTexts, file: string) =>
  world.tasks().find(({ destination }) => destination === file);

describe('judging stored targets again', () => {
  async function open() {
    const world = await openTranslatedTexts();
    world.build('r1', TEXTS);
    const words: Words = { forbidden: [], generation: 1 };
    const judge = judgeOf(
      ({ targetText }) =>
        words.forbidden.some((word) => targetText.includes(word))
          ? [blockingFinding('forbidden_translation', 'glossary')]
          : [],
      () => words.generation,
    );
    const judgedBy = () => Promise.resolve({ key: `key-${words.generation}`, generation: words.generation });
    return {
      ...world,
      words,
      judgedBy,
      forbid: (...forbidden: readonly string[]) => {
        Object.assign(words, { forbidden, generation: words.generation + 1 });
      },
      requalify: async (
        thread: TranslationThread = world.thread,
        progress: TaskContext['progress'] = () => undefined,
      ) =>
        await requalifyTargets(
          { thread, judging: partial<Judging>({ judge, judgedBy, units: world.units }) },
          { signal: new AbortController().signal, progress },
        ),
      states: () => UNITS.map(([file, key]) => world.target(file, key)?.state ?? 'untranslated'),
    };
  }

  type World = Awaited<ReturnType<typeof open>>;

  /** Takes random steps. @returns the text of each key, and its state when nothing blocks it */
  async function takeSteps(
    world: World,
    steps: readonly Step[],
  ): Promise<ReadonlyMap<string, { text: string; state: string }>> {
    const expected = new Map<string, { text: string; state: string }>();
    let releases = 1;
    for (const { kind, at, text, calls } of steps) {
      const [file, key] = UNITS[at] ?? ['', ''];
      const known = expected.get(key);
      if (kind === 'type') {
        const isBad = world.words.forbidden.some((word) => text.includes(word));
        world.type(file, key, text, {
          result: {
            judgedBy: judgedByGeneration(world.words.generation),
            findings: isBad ? [blockingFinding('x', 'glossary')] : [],
          },
        });
        expected.set(key, { text, state: 'draft' });
      } else if (kind === 'review' && known !== undefined && world.target(file, key)?.state === 'draft') {
        setState(world, file, key, 'proofread');
        expected.set(key, { ...known, state: 'proofread' });
      } else if (kind === 'forbid') world.forbid(text.split(' ')[0] ?? '');
      else if (kind === 'release') world.build(`r${(releases += 1)}`, TEXTS);
      else if (kind === 'requalify') await world.requalify();
      else if (kind === 'cut') await world.requalify(failingAfter(world, calls)).catch(() => undefined);
    }
    return expected;
  }

  it('blocks targets with their reason, and gives them their states back', async () => {
    const world = await open();
    for (const [file, key] of UNITS) world.type(file, key, key === 'two' ? 'new wording' : `old ${key}`);
    world.type('b.json', 'four', 'old four', { status: 'translated' });
    const before = world.states();
    world.forbid('old');
    const seen: unknown[][] = [];
    expect(await world.requalify(world.thread, (...told) => seen.push(told))).toMatchObject({
      tasks: 2,
      judged: 4,
      blocked: 3,
      freed: 0,
    });
    expect(seen.at(-1)).toEqual([2, 2, 'tasks', 'judging targets']);
    expect(world.states()).toEqual(['blocked', 'draft', 'blocked', 'blocked']);
    expect(currentTask(world, 'b.json')).toMatchObject({
      status: 'blocked',
      reason:
        'requalified: a change of the Glossary or the rules blocks 1 unit with forbidden_translation (gqa1_よん_old four)',
    });
    expect(world.target('a.json', 'one')).toMatchObject({
      target_text: 'old one',
      state_before: 'draft',
      revision: 2,
    });
    world.forbid();
    expect(await world.requalify()).toMatchObject({ blocked: 0, freed: 3 });
    expect(world.states()).toEqual(before);
    expect(currentTask(world, 'b.json')).toMatchObject({ status: 'translated', reason: null });
    const unitId = unitIdOf('b.json', 'four').toString('hex');
    expect(
      world.rows(`SELECT revision, target_text, state, author_kind, reason FROM target_history
        WHERE unit_id = x'${unitId}' AND revision > 2 ORDER BY entry`),
    ).toEqual([
      {
        revision: 3,
        target_text: 'old four',
        state: 'blocked',
        author_kind: 'person',
        reason: 'requalified: forbidden_translation',
      },
      {
        revision: 4,
        target_text: 'old four',
        state: 'translated',
        author_kind: 'person',
        reason: 'requalified: nothing blocks it now',
      },
    ]);
  });

  it('writes nothing when no state changes', async () => {
    const world = await open();
    for (const [file, key] of UNITS) world.type(file, key, key);
    const everything = () =>
      ['target', 'target_history'].map((table) => world.rows(`SELECT * FROM ${table}`));
    const before = everything();
    world.forbid('old');
    expect(await world.requalify()).toMatchObject({ judged: 4, blocked: 0, freed: 0 });
    expect(everything()).toEqual(before);
    // Nothing is judged twice by the same rules.
    expect(await world.requalify()).toMatchObject({ tasks: 0, judged: 0 });
  });

  it('leaves a task that nothing changes its time, and stores the time of a change', async () => {
    const world = await open();
    world.type('b.json', 'four', 'old four');
    world.run('UPDATE task SET updated_at = 1');
    world.forbid('other');
    await world.requalify();
    expect(currentTask(world, 'b.json')).toMatchObject({ updated_at: 1 });
    world.forbid('old');
    await world.requalify();
    expect(currentTask(world, 'b.json')?.updated_at).toBeGreaterThan(1);
  });

  it('keeps a target whose diagnosis a reviewer has overridden', async () => {
    const world = await open();
    const override = { reviewer: 'r', reason: 'x', provenance: 'call', confirmedAt: 1 };
    world.type('b.json', 'four', 'old', {
      override: { ...override, qaIdentity: 'gqa1_よん_old' },
    });
    world.forbid('old');
    await world.requalify();
    expect(world.target('b.json', 'four')).toMatchObject({ state: 'draft' });
  });

  it('keeps a target that a reviewer accepted with a warning which is an error since that review', async () => {
    const world = await open();
    const warning = { ...blockingFinding('forbidden_translation', 'glossary'), severity: 'warning' };
    for (const key of ['one', 'two']) {
      world.type('a.json', key, 'old');
      world.run(`UPDATE target SET findings = '${JSON.stringify([warning])}'
        WHERE unit_id = x'${unitIdOf('a.json', key).toString('hex')}'`);
    }
    setState(world, 'a.json', 'one', 'proofread');
    world.forbid('old');
    expect(await world.requalify()).toMatchObject({ judged: 2, blocked: 1 });
    expect(world.states().slice(0, 2)).toEqual(['proofread', 'blocked']);
    expect(JSON.parse(String(world.target('a.json', 'one')?.findings))).toEqual([warning]);
  });

  it('gives a waived target the state that it had', async () => {
    const world = await open();
    world.type('b.json', 'four', 'old', { status: 'translated' });
    setState(world, 'b.json', 'four', 'proofread');
    world.run(`UPDATE target SET findings = '[]'`);
    const waivable = judgeOf(() => [blockingFinding('tag_mismatch')]);
    await requalifyTargets(
      {
        thread: world.thread,
        judging: partial<Judging>({
          judge: waivable,
          judgedBy: () => Promise.resolve({ key: 'k', generation: 1 }),
          units: world.units,
        }),
      },
      { signal: new AbortController().signal, progress: () => undefined },
    );
    expect(world.target('b.json', 'four')).toMatchObject({ state: 'blocked', state_before: 'proofread' });
    const task = currentTask(world, 'b.json');
    world.type('a.json', 'one', 'x');
    world.calls.applyUpdate({
      ...WAIVE,
      taskId: task?.task_id ?? '',
      waive: [{ unitId: unitIdOf('b.json', 'four'), pointer: '/args/0', check: 'tag_mismatch' }],
    });
    expect(world.target('b.json', 'four')).toMatchObject({ state: 'proofread', state_before: null });
  });

  it('leaves a target that changed meanwhile, because it was judged then', async () => {
    const world = await open();
    world.type('b.json', 'four', 'old');
    world.forbid('old');
    const thread = aroundCalls<TranslationStore>(world.thread, async (name, call) => {
      if (name === 'storeRequalified') {
        world.type('b.json', 'four', 'new', {
          result: { judgedBy: judgedByGeneration(world.words.generation) },
        });
      }
      return await call();
    });
    expect(await world.requalify(thread)).toMatchObject({ blocked: 0 });
    expect(world.target('b.json', 'four')).toMatchObject({ state: 'draft', target_text: 'new' });
  });

  it('judges a task again when a target of an older Glossary is stored after it', async () => {
    const world = await open();
    world.type('b.json', 'four', 'new');
    world.forbid('old');
    await world.requalify();
    world.type('b.json', 'four', 'old', {
      result: { judgedBy: judgedByGeneration(world.words.generation - 1) },
    });
    expect(world.target('b.json', 'four')).toMatchObject({ state: 'draft' });
    await world.requalify();
    expect(world.target('b.json', 'four')).toMatchObject({ state: 'blocked' });
  });

  it.each([
    ['by other rules beside the same Glossary', { key: 'old-rules', generation: 2 }],
    ['by another Glossary', { key: 'other-glossary', generation: null }],
  ])('judges a task again when a target that was judged %s is stored after it', async (_what, judgedBy) => {
    const world = await open();
    world.type('b.json', 'four', 'new');
    world.forbid('old');
    await world.requalify();
    world.type('b.json', 'four', 'fine', { result: { judgedBy: judgedByGeneration(2) } });
    expect(await world.requalify()).toMatchObject({ tasks: 0 });
    world.type('b.json', 'four', 'old', { result: { judgedBy } });
    expect(await world.requalify()).toMatchObject({ tasks: 1, blocked: 1 });
    expect(world.target('b.json', 'four')).toMatchObject({ state: 'blocked' });
  });

  it('judges a task again when a check that was made before stores its findings after it', async () => {
    const world = await open();
    world.type('b.json', 'four', 'good');
    const [row] = world.rows(`SELECT task_seq FROM task WHERE destination = 'b.json' AND is_visible = 1`);
    const taskSeq = Number(row?.['task_seq']);
    const { reviewId } = world.calls.beginCheck(taskSeq);
    const rows = [{ number: 0, findings: [], qaIdentity: 'gqa1_old' }];
    world.calls.storeReviewJudgements({ reviewId, taskSeq, by: judgedByGeneration(1), rows });
    world.forbid('old');
    await world.requalify();
    world.calls.applyCheck(reviewId);
    expect(await world.requalify()).toMatchObject({ tasks: 1, judged: 1 });
    expect(world.rows('SELECT qa_identity FROM target')).toEqual([{ qa_identity: 'gqa1_よん_good' }]);
  });

  it.each(['one', 'two'])(
    'judges a target of an older Glossary that is stored while page %s of its task is judged',
    async (page) => {
      const world = await open();
      const keys = Array.from({ length: 201 }, (_, at) => `k${at}`);
      world.build('r2', {
        'a.json': Object.fromEntries([...keys, 'late'].map((key) => [key, `text ${key}`])),
      });
      for (const key of keys) world.type('a.json', key, `good ${key}`);
      world.forbid('old');
      const generation = world.words.generation - 1;
      let stores = 0;
      const thread = aroundCalls<TranslationStore>(world.thread, async (name, call) => {
        if (name === 'storeRequalified') stores += 1;
        if (name === 'storeRequalified' && stores === (page === 'one' ? 1 : 2)) {
          world.type('a.json', 'late', 'old', { result: { judgedBy: judgedByGeneration(generation) } });
        }
        return await call();
      });
      expect(await world.requalify(thread)).toMatchObject({ tasks: 0, blocked: 0 });
      expect(await world.requalify()).toMatchObject({ tasks: 1, blocked: 1 });
      expect(world.target('a.json', 'late')).toMatchObject({ state: 'blocked' });
      expect(await world.requalify()).toMatchObject({ tasks: 0 });
    },
  );

  it('judges a target of an older Glossary that is stored while two runs judge its task', async () => {
    const world = await open();
    const keys = Array.from({ length: 201 }, (_, at) => `k${at}`);
    world.build('r2', {
      'a.json': Object.fromEntries(['early', ...keys].map((key) => [key, `text ${key}`])),
    });
    for (const key of keys) world.type('a.json', key, `good ${key}`);
    world.forbid('old');
    const by = await world.judgedBy();
    let stores = 0;
    const thread = aroundCalls<TranslationStore>(world.thread, async (name, call) => {
      if (name === 'storeRequalified') stores += 1;
      // The last page of this run: the target is behind it, and the other run begins the task again.
      if (name === 'storeRequalified' && stores === 2) {
        world.type('a.json', 'early', 'old', { result: { judgedBy: judgedByGeneration(1) } });
        world.calls.requalifyPage({ by, fromTask: 0 });
      }
      return await call();
    });
    expect(await world.requalify(thread)).toMatchObject({ tasks: 0 });
    expect(await world.requalify()).toMatchObject({ tasks: 1, blocked: 1 });
    expect(world.target('a.json', 'early')).toMatchObject({ state: 'blocked' });
  });

  it('ends while targets of an older Glossary keep being stored', async () => {
    const world = await open();
    for (const [file, key] of UNITS) world.type(file, key, 'good');
    world.forbid('old');
    const thread = aroundCalls<TranslationStore>(world.thread, async (name, call) => {
      if (name === 'storeRequalified') {
        world.type('a.json', 'three', `text ${world.rows('SELECT 1 FROM target_history').length}`, {
          result: { judgedBy: judgedByGeneration(1) },
        });
      }
      return await call();
    });
    expect(await world.requalify(thread)).toMatchObject({ tasks: 1 });
  });

  it('keeps the finding of the comparison of targets', async () => {
    const world = await open();
    world.type('b.json', 'four', 'old');
    const compared = { ...blockingFinding('inconsistent_target'), severity: 'warning' };
    world.run(`UPDATE target SET findings = '${JSON.stringify([compared])}'`);
    world.forbid('old');
    await world.requalify();
    const checks = () =>
      (JSON.parse(world.target('b.json', 'four')?.findings ?? '') as { check: string }[]).map(
        ({ check }) => check,
      );
    expect(checks()).toEqual(['forbidden_translation', 'inconsistent_target']);
    world.forbid();
    await world.requalify();
    expect(checks()).toEqual(['inconsistent_target']);
  });

  it('judges a container again when it was proofread', async () => {
    const world = await open();
    for (const [file, key] of UNITS) world.type(file, key, key);
    await world.requalify();
    world.run(`INSERT INTO proofread_container VALUES ('a.json', NULL, 'zh-Hans', 1)`);
    expect(await world.requalify()).toMatchObject({ tasks: 1, judged: 3 });
  });

  it('does not judge again in the next release the targets that stay in their places', async () => {
    const world = await open();
    for (const [file, key] of UNITS) world.type(file, key, key);
    await world.requalify();
    world.build('r2', { ...TEXTS, 'b.json': { moved: 'よん' } });
    expect(await world.requalify()).toMatchObject({ tasks: 1, judged: 1 });
  });

  it('waits for the next tasks when the parse index has moved on', async () => {
    const world = await open();
    world.type('b.json', 'four', 'old');
    world.forbid('old');
    indexRelease(world.index, 'r2', [{ destination: 'z.json', leaves: [{ units: [['0', 'はい']] }] }]);
    expect(await world.requalify()).toMatchObject({
      blocked: 0,
      postponed: expect.stringContaining('moved on') as string,
    });
    world.build('r3', TEXTS);
    expect(await world.requalify()).toMatchObject({ blocked: 1 });
  });

  it('continues a container of many pages where it was interrupted', async () => {
    const world = await open();
    const many = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`k${at}`, `text ${at}`]));
    world.build('r2', { 'a.json': many });
    for (const key of Object.keys(many)) world.type('a.json', key, `old ${key}`);
    world.forbid('old');
    await expect(world.requalify(failingAfter(world, 4))).rejects.toThrow('killed');
    expect(currentTask(world, 'a.json')?.unit_counts).toMatchObject({ blocked: 200, draft: 50 });
    expect(await world.requalify()).toMatchObject({ judged: 50, blocked: 50 });
    expect(currentTask(world, 'a.json')).toMatchObject({
      unit_counts: { blocked: 250 },
      reason: expect.stringContaining('blocks 250 units') as string,
    });
  });

  it('property: whatever changes and ends in between, the last rules decide, and reviews come back', async () => {
    const step = record({
      kind: constantFrom('type', 'forbid', 'cut', 'requalify', 'release', 'review'),
      at: nat({ max: UNITS.length - 1 }),
      text: constantFrom('red', 'blue', 'red blue'),
      calls: nat({ max: 4 }),
    });
    await assert(
      asyncProperty(array(step, { maxLength: 10 }), async (steps) => {
        const world = await open();
        const expected = await takeSteps(world, steps);
        await world.requalify();
        for (const [file, key] of UNITS) {
          const { text, state } = expected.get(key) ?? { text: null, state: 'untranslated' };
          const isBad = world.words.forbidden.some((word) => text?.includes(word) === true);
          const target = world.target(file, key);
          expect(target?.target_text ?? null).toBe(text);
          expect(target?.state ?? 'untranslated').toBe(isBad ? 'blocked' : state);
        }
        world.forbid();
        await world.requalify();
        expect(world.states()).toEqual(UNITS.map(([, key]) => expected.get(key)?.state ?? 'untranslated'));
      }),
      { numRuns: 12 },
    );
  });
});

interface Step {
  readonly kind: 'type' | 'forbid' | 'cut' | 'requalify' | 'release' | 'review';
  readonly at: number;
  readonly text: string;
  readonly calls: number;
}

const WAIVE = {
  status: null,
  results: [],
  failureReason: null,
  providerRunId: null,
  provider: null,
  judgedFor: null,
  override: null,
  workerId: null,
  leaseSeconds: null,
  reviewer: 'r',
  reason: 'x',
  force: false,
  isTrial: false,
  tokenId: null,
  expect: [],
  hold: [],
};

/** A thread that ends after some calls, as a kill does. */
function failingAfter(world: TranslatedTexts, calls: number): TranslationThread {
  let left = calls;
  return aroundCalls<TranslationStore>(world.thread, async (_name, call) => {
    left -= 1;
    if (left < 0) throw new Error('killed');
    return await call();
  });
}

/** Targets that were stored beside something. */
const stored = (key: string, isOfRun = false): TextEvent => ({
  kind: 'targets_changed',
  judgedBy: [key],
  hasMoved: false,
  mayRepeat: false,
  isOfRun,
});

describe('requalified targets', () => {
  /** The work of judging again beside a Glossary of generation 2, with the tasks that it queues. */
  async function open() {
    const world = await openTranslatedTexts();
    const { engine } = createTestEngine();
    const events = createEvents<TextEvent>();
    const listeners: Parameters<typeof engine.onFinished>[0][] = [];
    const judging = {
      judge: judgeOf(() => []),
      judgedBy: () => Promise.resolve({ key: 'key-2', generation: 2 }),
      units: world.units,
    };
    const database = { isFull: false };
    const requalification = createRequalification({
      engine: partial<TaskEngine>({
        submit: (submission) => {
          if (database.isFull) throw new Error('the database is full');
          return engine.submit(submission);
        },
        onFinished: (listener) => {
          listeners.push(listener);
        },
      }),
      thread: world.thread,
      judging: partial<Judging>(judging),
      memory: partial<TranslationMemory>({ record: () => Promise.resolve(null) }),
      events,
      logger: createSilentLogger(),
    });
    engine.jobs.register(requalification.job);
    const finish = (kind: string): void => {
      for (const listener of listeners) listener({ kind, status: 'succeeded' } as never);
    };
    return {
      ...world,
      requalification,
      events,
      database,
      finish,
      argumentsOf: () => engine.list(10).map(({ args }) => args),
      queued: () => engine.list(10).map(({ kind }) => kind),
    };
  }

  describe('a stored target', () => {
    it.each([
      ['key-2', []],
      ['key-2 proofread', []],
      ['key-1', ['requalify']],
    ])('that was judged by %s queues %j beside key-2', async (key, kinds) => {
      const { requalification, queued, events, ...world } = await open();
      world.build('r1', { 'a.json': { one: 'いち' } });
      await requalification.catchUp();
      world.type('a.json', 'one', 'x');
      events.publish(stored(key));
      // An answer of the store takes longer than a turn of the event loop.
      await world.thread.currentTasks();
      await setImmediate();
      expect(queued()).toEqual(kinds);
    });

    it('of a run of workers beside another Glossary is judged again when the run has ended', async () => {
      const { requalification, queued, events, finish, ...world } = await open();
      world.build('r1', { 'a.json': { one: 'いち' } });
      await requalification.catchUp();
      world.type('a.json', 'one', 'x');
      events.publish(stored('other', true));
      finish('backup');
      await setImmediate();
      expect(queued()).toEqual([]);
      finish('worker-run');
      await until(() => queued().length === 1);
      expect(queued()).toEqual(['requalify']);
    });
  });

  it('superseded records wait while their job cannot be queued, and none is forgotten', async () => {
    const { requalification, queued, argumentsOf, events, database } = await open();
    database.isFull = true;
    events.publish({ kind: 'records_superseded', recordIds: ['one'] });
    await requalification.catchUp();
    expect(queued()).toEqual([]);
    database.isFull = false;
    events.publish({ kind: 'records_superseded', recordIds: ['two'] });
    await until(() => queued().length === 1);
    expect(argumentsOf()).toEqual([{ superseded: ['one', 'two'] }]);
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
      expect(await world.thread.tasksToRequalify('key-2')).toBe(1);
      await requalification.catchUp();
      await until(() => queued().length === 1);
    });
  });
});

describe('the reason of a requalified task', () => {
  it('reads the reason of a task from its own units, however many targets the language has', () => {
    const { database } = openTestWork();
    const statements: string[] = [];
    const prepare = (sql: string) => {
      statements.push(sql);
      // As if units were blocked.
      return { ...database.prepare(sql), get: () => ({ count: 1 }) };
    };
    const options = { targetLanguage: 'zh-Hans', createId: () => 'id', now: () => 1 };
    writeReason(openWork({ ...database, prepare }, options), 1);
    const reads = statements.filter((sql) => sql.startsWith('SELECT'));
    expect(reads).toHaveLength(2);
    for (const read of reads) {
      const plan = rowsOf(database, `EXPLAIN QUERY PLAN ${read}`).map(({ detail }) => String(detail));
      expect(plan).toEqual([
        expect.stringContaining('SEARCH task_unit USING PRIMARY KEY (task_seq=?)'),
        expect.stringContaining('SEARCH target USING INDEX target_blocked (unit_id=? AND target_language=?)'),
      ]);
    }
  });
});
