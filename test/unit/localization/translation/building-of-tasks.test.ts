import type { IndexedTexts } from '../../../../src/localization/parse/parse.ts';
import { FIRST_UNIT } from '../../../../src/localization/parse/index/read/units-after.ts';
import { partial } from '../../../support/partial.ts';
import { describe, expect, it } from 'vitest';
import { callerBy } from '../../../../src/platform/threads/caller.ts';
import { PARSE_JOB } from '../../../../src/localization/parse/parse-jobs.ts';
import { callOf, implementJob } from '../../../../src/engine/tasks/job.ts';
import { createTaskBuild } from '../../../../src/localization/translation/task-build.ts';
import { NO_PROVENANCE } from '../../../../src/localization/translation/work/store/target-rows.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import {
  finishSteps,
  indexRelease,
  parseFile,
  releaseOf,
  type ModelFile,
} from '../../../support/index-release.ts';
import { createTestEngine, type TestEngine } from '../../../support/task-engine.ts';
import {
  buildTasks,
  growBuild,
  openTestWork,
  workIn,
  resultsOf,
  rowsOf,
  type TestWork,
} from '../../../support/translation-work.ts';
import { until } from '../../../support/until.ts';

const file = (...units: readonly (readonly [string, string])[]): ModelFile => ({
  destination: 'a.json',
  leaves: [{ units }],
});

/** Rows with an index as key: a row that is inserted gives every row behind it another id. */
const rows = (...texts: readonly string[]): ModelFile =>
  file(...texts.map((text, at) => [`${at}`, text] as const));

/** Translates every open unit, and marks all targets as reviewed. */
function review(work: TestWork, now: number): void {
  const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null };
  for (;;) {
    const lease = work.at(now).claimChunk({ ...request, after: null });
    if (lease === null) break;
    const sources = new Map(
      work.index.textUnits({ offset: 0, limit: 1000 }).items.map((unit) => [unit.ordinal, unit.source_text]),
    );
    const source = (at: number): string => sources.get(lease.units[at]?.ordinal ?? -1) ?? '';
    work.at(now).storeResults({
      token: lease.token,
      results: resultsOf(lease, (at) => `T(${source(at)})`, source),
      provenance: NO_PROVENANCE,
    });
    work.at(now).endLease({ token: lease.token, outcome: { kind: 'done' } });
  }
  work.database.prepare(`UPDATE target SET state = 'proofread' WHERE state = 'draft'`).run();
  work.database.prepare(`UPDATE task SET proofread = proofread + draft, draft = 0`).run();
}

/** The units of the current tasks with the state and the text of their targets. */
function units(work: TestWork): unknown[] {
  return rowsOf(
    work.database,
    `SELECT coalesce(state, 'untranslated') AS state, target_text FROM task_unit
     JOIN task USING (task_seq) LEFT JOIN target USING (unit_id)
     WHERE is_visible = 1 AND stored_status IS NULL ORDER BY task_seq, task_unit.number`,
  ).map((row) => [row['state'], row['target_text']]);
}

/** The counts that the tasks keep, beside those that their units have. */
function counted(work: TestWork): { kept: unknown; real: unknown } {
  const states = ['untranslated', 'draft', 'translated', 'proofread', 'blocked', 'stale'];
  const kept = rowsOf(
    work.database,
    `SELECT ${states.map((state) => `sum(${state}) AS ${state}`).join(', ')}, (SELECT sum(open_units) FROM chunk) AS open
     FROM task WHERE stored_status IS NULL`,
  );
  const real = rowsOf(
    work.database,
    `SELECT ${states.map((s) => `count(*) FILTER (WHERE coalesce(state, 'untranslated') = '${s}') AS ${s}`).join(', ')},
     count(*) FILTER (WHERE coalesce(state, 'untranslated') IN ('untranslated', 'stale')) AS open
     FROM task_unit LEFT JOIN target USING (unit_id)`,
  );
  return { kept, real };
}

/** How the units of the current tasks follow the release before, with the task and whether a file may name an older id. */
function followed(work: TestWork): unknown[] {
  return rowsOf(
    work.database,
    `SELECT task_id, tier, carried_from IS NOT NULL AS has_older_id FROM task_unit JOIN task USING (task_seq)
     WHERE is_visible = 1 AND stored_status IS NOT 'superseded' ORDER BY task_seq, task_unit.number`,
  ).map((row) => [row['task_id'], row['tier'], row['has_older_id']]);
}

/** How units follow the release before, as the parse index says it. */
const indexed = (work: TestWork): unknown[] =>
  work.index
    .textUnits({ offset: 0, limit: 1000 })
    .items.map(({ carried_by: carriedBy }) => carriedBy?.tier ?? null);

describe('the builder of tasks', () => {
  describe('building tasks', () => {
    it('makes one task of each container, with its units in order', () => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', [
        {
          destination: 'b.zip',
          leaves: [
            {
              archiveEntry: 'x',
              units: [
                ['1', 'a'],
                ['2', 'b'],
              ],
            },
            { archiveEntry: 'y', units: [['3', 'c']] },
          ],
        },
        { destination: 'a.json', leaves: [{ units: [['1', 'd']] }] },
        { destination: 'empty.json', leaves: [] },
      ]);
      expect(buildTasks(work, 10, 1)).toMatchObject({ tasks: 3, superseded: 0 });
      const tasks = rowsOf(
        work.database,
        'SELECT destination, archive_entry, untranslated, status FROM task ORDER BY task_seq',
      );
      expect(tasks).toEqual([
        { destination: 'a.json', archive_entry: null, untranslated: 1, status: 'pending' },
        { destination: 'b.zip', archive_entry: 'x', untranslated: 2, status: 'pending' },
        { destination: 'b.zip', archive_entry: 'y', untranslated: 1, status: 'pending' },
      ]);
    });

    it('changes nothing when it runs again for the same index', () => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', [rows('a', 'b')]);
      buildTasks(work, 10);
      const before = rowsOf(work.database, 'SELECT * FROM task');
      const again = work.at(20).beginBuild({ releaseId: 'r1', generation: work.index.status().generation });
      expect(again.isComplete).toBe(true);
      expect(rowsOf(work.database, 'SELECT * FROM task')).toEqual(before);
    });

    it('continues a build where it was interrupted, and shows nothing of it before its end', () => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', [rows('a', 'b', 'c')]);
      const generation = work.index.status().generation;
      const first = work.at(10).beginBuild({ releaseId: 'r1', generation: generation });
      const page = work.index.unitsAfter({ from: FIRST_UNIT, limit: 2, maxCharacters: 1000 });
      work.at(10).addUnits({ buildId: first.buildId, page: page });
      const again = work.at(20).beginBuild({ releaseId: 'r1', generation: generation });
      expect(again).toMatchObject({ buildId: first.buildId, isComplete: false });
      const files = work.index.containersAfter({ after: '', limit: 10 });
      expect(work.compareFiles({ buildId: again.buildId, page: files })).toEqual([
        { from: { destination: 'a.json', ordinal: 2 }, last: 'a.json' },
      ]);
      expect(() => work.at(20).finishBuild(first.buildId)).toThrow('has not all units yet');
      expect(rowsOf(work.database, 'SELECT 1 FROM task WHERE is_visible = 1')).toEqual([]);
      expect(buildTasks(work, 20)).toMatchObject({ tasks: 1 });
      expect(units(work)).toHaveLength(3);
    });

    it('gives up a build of a release that is no longer the current one', () => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', [rows('a', 'b', 'c')]);
      const first = work.at(10).beginBuild({ releaseId: 'r1', generation: work.index.status().generation });
      work.at(10).addUnits({
        buildId: first.buildId,
        page: work.index.unitsAfter({ from: FIRST_UNIT, limit: 2, maxCharacters: 1000 }),
      });
      indexRelease(work.index, 'r2', [rows('a')]);
      const page = work.index.unitsAfter({
        from: FIRST_UNIT,
        limit: 2,
        maxCharacters: 1000,
      });
      expect(() => work.at(20).addUnits({ buildId: first.buildId, page: page })).toThrow('release r2');
      buildTasks(work, 20);
      expect(rowsOf(work.database, 'SELECT release_id, is_visible FROM task_of_release')).toEqual([
        { release_id: 'r2', is_visible: 1 },
      ]);
      expect(units(work)).toHaveLength(1);
    });
  });

  describe('carrying targets to the next release', () => {
    it('keeps targets of equal texts, and makes those of changed texts stale with their old source', () => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', [file(['a', 'one'], ['b', 'two'], ['c', 'three'])]);
      buildTasks(work, 10);
      review(work, 11);
      indexRelease(work.index, 'r2', [file(['a', 'one'], ['b', 'TWO'], ['c', 'three'], ['d', 'four'])]);
      expect(buildTasks(work, 20)).toMatchObject({ superseded: 1, carried: { changed: 1 } });
      expect(units(work)).toEqual([
        ['proofread', 'T(one)'],
        ['stale', 'T(two)'],
        ['proofread', 'T(three)'],
        ['untranslated', null],
      ]);
      expect(
        rowsOf(work.database, `SELECT source_text, state_before FROM target WHERE state = 'stale'`),
      ).toEqual([{ source_text: 'two', state_before: 'proofread' }]);
      expect(rowsOf(work.database, 'SELECT status FROM task ORDER BY task_seq')).toEqual([
        { status: 'superseded' },
        { status: 'in_progress' },
      ]);
      const { kept, real } = counted(work);
      expect(kept).toEqual(real);
    });

    it.each(['pending', 'in_progress'])('keeps that a task was returned as %s, and why', (status) => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', [file(['a', 'one'])]);
      buildTasks(work, 10);
      review(work, 11);
      work.database.prepare(`UPDATE task SET stored_status = ?, reason = 'too formal'`).run(status);
      indexRelease(work.index, 'r2', [file(['a', 'one'], ['b', 'two'])]);
      buildTasks(work, 20);
      const task = `SELECT status, reason FROM task_of_release WHERE release_id = 'r2'`;
      expect(rowsOf(work.database, task)).toEqual([{ status, reason: 'too formal' }]);
    });

    it('follows units whose ids moved on by one, and gives the id of another text no target', () => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', [rows('one', 'two', 'three', 'four')]);
      buildTasks(work, 10);
      review(work, 11);
      indexRelease(work.index, 'r2', [rows('new', 'one', 'two', 'three', 'four')]);
      buildTasks(work, 20);
      const carried = units(work);
      expect(carried.map((unit) => (unit as [string, string])[1])).toEqual([
        null,
        'T(one)',
        'T(two)',
        'T(three)',
        'T(four)',
      ]);
      // The new neighbour makes the first one `unique`: it keeps its target, not its review.
      expect(carried.slice(1)).toEqual([
        ['translated', 'T(one)'],
        ['proofread', 'T(two)'],
        ['proofread', 'T(three)'],
        ['proofread', 'T(four)'],
      ]);
      const { kept, real } = counted(work);
      expect(kept).toEqual(real);
    });

    it('gives a text that comes back its target, and never its review', () => {
      const work = openTestWork();
      const one = [file(['a', 'one'], ['b', 'two'])];
      indexRelease(work.index, 'r1', one);
      buildTasks(work, 10);
      review(work, 11);
      indexRelease(work.index, 'r2', [file(['a', 'other'], ['b', 'two'])]);
      buildTasks(work, 20);
      indexRelease(work.index, 'r3', one);
      buildTasks(work, 30);
      expect(units(work)).toEqual([
        ['translated', 'T(one)'],
        ['proofread', 'T(two)'],
      ]);
    });

    it('keeps a target for exactly its own text when a release was left out', () => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', [rows('one', 'two')]);
      buildTasks(work, 10);
      review(work, 11);
      indexRelease(work.index, 'r2', [rows('new', 'one', 'two')]);
      indexRelease(work.index, 'r3', [rows('new', 'one', 'two')]);
      buildTasks(work, 30);
      for (const unit of units(work)) expect((unit as [string])[0]).not.toBe('proofread');
      expect(units(work)).toEqual([
        ['stale', 'T(one)'],
        ['stale', 'T(two)'],
        ['untranslated', null],
      ]);
    });

    it('carries a target that a person stored while the next tasks were built', () => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', [rows('one', 'two')]);
      buildTasks(work, 10);
      indexRelease(work.index, 'r2', [rows('new', 'one', 'two')]);
      const build = growBuild(work.at(20), work.index);
      const lease = work
        .at(21)
        .claimChunk({ owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null });
      const source = (at: number): string => ['one', 'two'][at] ?? '';
      work.at(21).storeResults({
        token: lease?.token ?? '',
        results: resultsOf(lease!, (at) => `T(${source(at)})`, source),
        provenance: NO_PROVENANCE,
      });
      work.at(22).finishBuild(build);
      expect(units(work)).toEqual([
        ['untranslated', null],
        ['draft', 'T(one)'],
        ['draft', 'T(two)'],
      ]);
      expect(work.at(23).heartbeat({ token: lease?.token ?? '', leaseSeconds: 60 })).toBe(false);
    });
  });

  describe('building tasks of a release that was parsed again', () => {
    const first = [file(['a', 'one'], ['b', 'two'], ['e', 'five'])];
    const second = [file(['a', 'one'], ['b', 'TWO'], ['c', 'new'], ['f', 'five'])];

    function afterUpdate(): TestWork {
      const work = openTestWork();
      indexRelease(work.index, 'r1', first);
      buildTasks(work, 10);
      indexRelease(work.index, 'r2', second);
      buildTasks(work, 20);
      return work;
    }

    it('keeps the tasks with their ids, their leases and their tiers when nothing changed', () => {
      const work = afterUpdate();
      const before = followed(work);
      expect(new Set(before.map((unit) => (unit as unknown[])[1]))).toEqual(
        new Set(['same', 'changed', null, 'unique']),
      );
      const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null };
      const lease = work.at(21).claimChunk(request);
      const { generation } = work.currentTasks() ?? {};
      indexRelease(work.index, 'r2', second);
      expect(buildTasks(work, 30)).toEqual({ tasks: 1, units: 4, carried: {}, superseded: 0 });
      expect(followed(work)).toEqual(before);
      expect(work.currentTasks()).toEqual({ releaseId: 'r2', generation: work.index.status().generation });
      expect(work.currentTasks()?.generation).not.toBe(generation);
      expect(work.at(31).heartbeat({ token: lease?.token ?? '', leaseSeconds: 60 })).toBe(true);
      expect(
        rowsOf(work.database, 'SELECT release_id, status FROM task_of_release ORDER BY task_seq'),
      ).toMatchObject([{ release_id: 'r1', status: 'superseded' }, { release_id: 'r2' }]);
      const { kept, real } = counted(work);
      expect(kept).toEqual(real);
    });

    it('keeps the tiers of the release change in new tasks, of units without a target too', () => {
      const work = afterUpdate();
      const [[taskId] = []] = followed(work) as unknown[][];
      const more = ['x', 'of other rules'] as const;
      indexRelease(work.index, 'r2', [file(['a', 'one'], ['b', 'TWO'], ['c', 'new'], ['f', 'five'], more)]);
      expect(buildTasks(work, 30)).toMatchObject({ tasks: 1, superseded: 1 });
      const tiers = followed(work) as unknown[][];
      expect(tiers.map(([, tier]) => tier)).toEqual(indexed(work));
      expect(tiers.map(([, tier]) => tier)).toEqual(['same', 'changed', null, 'unique', null]);
      expect(tiers.map(([, , hasOlderId]) => hasOlderId)).toEqual([0, 0, 0, 1, 0]);
      expect(tiers[0]?.[0]).not.toBe(taskId);
    });

    it('shows units of a release after one that was left out as the same when their texts are', () => {
      const work = openTestWork();
      indexRelease(work.index, 'r1', first);
      buildTasks(work, 10);
      indexRelease(work.index, 'r2', first);
      indexRelease(work.index, 'r3', second);
      buildTasks(work, 30);
      expect((followed(work) as unknown[][]).map(([, tier]) => tier)).toEqual([
        'same',
        'changed',
        null,
        null,
      ]);
    });

    it.each([
      ['another place', [file(['b', 'TWO'], ['a', 'one'], ['c', 'new'], ['f', 'five'])]],
      ['another text', [file(['a', 'one'], ['b', 'two again'], ['c', 'new'], ['f', 'five'])]],
      ['a unit less', [file(['a', 'one'], ['b', 'TWO'], ['c', 'new'])]],
    ])('replaces the tasks for %s', (_, files) => {
      const work = afterUpdate();
      indexRelease(work.index, 'r2', files);
      expect(buildTasks(work, 30)).toMatchObject({ tasks: 1, superseded: 1 });
    });
  });
});

interface World {
  readonly engine: TestEngine['engine'];
  readonly taskBuild: ReturnType<typeof createTaskBuild>;
  /** The release that the index shows. */
  indexed: string;
  isAutomatic: boolean;
  /** The releases whose tasks were finished, in order. */
  readonly finished: string[];
  /** Held open by a test that wants a build to wait before its end. */
  cleaning: Promise<void>;
  parse(): Promise<void>;
}

function open(): World {
  const { engine } = createTestEngine();
  const world = { indexed: 'r1', isAutomatic: true, finished: [] as string[], cleaning: Promise.resolve() };
  const release = { releaseId: '' };
  const calls: Record<string, (argument: never) => unknown> = {
    beginBuild: ({ releaseId }: { releaseId: string }) => {
      release.releaseId = releaseId;
      return { buildId: 1, isComplete: true, isCurrent: false };
    },
    countTasks: () => false,
    finishBuild: () => {
      world.finished.push(release.releaseId);
      return {};
    },
    cleanUp: async () => {
      await world.cleaning;
      return false;
    },
  };
  const taskBuild = createTaskBuild({
    engine,
    thread: callerBy(async (name, argument) => await calls[name]?.(argument as never)),
    index: partial<IndexedTexts>({
      containersAfter: () => Promise.resolve({ releaseId: world.indexed, generation: 1, total: 1 } as never),
    }),
    isAutomatic: () => world.isAutomatic,
    onBuilt: () => Promise.resolve(),
    logger: createSilentLogger(),
  });
  engine.jobs.register(taskBuild.job);
  engine.jobs.register(implementJob(PARSE_JOB, () => Promise.resolve({})));
  engine.start();
  return Object.assign(world, {
    engine,
    taskBuild,
    parse: async () => {
      const { task } = engine.submit({ ...callOf(PARSE_JOB, {}), dedupe: false });
      await until(() => engine.get(task.task_id)?.status === 'succeeded');
    },
  });
}

describe('the tasks of the indexed release', () => {
  it('are built after a parse run', async () => {
    const world = open();
    await world.parse();
    await until(() => world.finished.length === 1 && !world.taskBuild.isRunning());
    expect(world.finished).toEqual(['r1']);
  });

  it('are built again when a parse run ends while a build of the release before has read its units', async () => {
    const world = open();
    const cleaning = Promise.withResolvers<void>();
    world.cleaning = cleaning.promise;
    await world.parse();
    await until(() => world.finished.length === 1);
    world.indexed = 'r2';
    await world.parse();
    cleaning.resolve();
    await until(() => world.finished.length === 2);
    expect(world.finished).toEqual(['r1', 'r2']);
  });

  it('are not built by themselves when translation.automatic is off', async () => {
    const world = open();
    world.isAutomatic = false;
    await world.parse();
    world.taskBuild.request();
    expect(world.engine.list(10).map(({ kind }) => kind)).toEqual(['parse']);
  });
});

/** More tasks than one step takes. */
const FILES = 450;

const manyFiles = (): ModelFile[] =>
  Array.from({ length: FILES }, (_, at) => ({
    destination: `${String(at).padStart(4, '0')}.json`,
    leaves: [{ units: [['k', `text ${at}`]] }],
  }));

describe('replaced tasks', () => {
  it('writes the status of new tasks in steps that another process can continue, and shows none before the last one', () => {
    const work = openTestWork();
    const { database, index } = work;
    indexRelease(index, 'r1', manyFiles());
    buildTasks(work, 1, 100);
    const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null };
    const lease = work.at(2).claimChunk(request);
    if (lease === null) throw new Error('there is nothing to translate');
    const results = resultsOf(
      lease,
      () => 'T',
      () => 'text 0',
    );
    work.at(2).storeResults({ token: lease.token, results: results, provenance: NO_PROVENANCE });
    work.at(2).endLease({ token: lease.token, outcome: { kind: 'done' } });

    const changed = manyFiles().map(({ destination, leaves: [leaf] }) => ({
      destination,
      leaves: [{ units: [...(leaf?.units ?? []), ['l', 'new'] as const] }],
    }));
    indexRelease(index, 'r2', changed);
    const build = growBuild(work.at(3), index, { limit: 100 });
    const shown = (): unknown =>
      rowsOf(
        database,
        `SELECT release_id, status, count(*) AS tasks FROM task_of_release WHERE is_visible = 1 GROUP BY release_id, status`,
      );
    const before = shown();
    expect(work.at(3).countTasks(build)).toBe(true);
    // The process ends here, and another one takes over.
    const other = workIn(work, () => 'other');
    expect(growBuild(other.at(4), index)).toBe(build);
    expect(other.at(4).countTasks(build)).toBe(true);
    expect(other.at(4).countTasks(build)).toBe(false);
    expect(shown()).toEqual(before);
    expect(other.at(5).finishBuild(build)).toMatchObject({
      tasks: FILES,
      units: 2 * FILES,
      superseded: FILES,
    });
    expect(shown()).toEqual([
      { release_id: 'r1', status: 'superseded', tasks: FILES },
      { release_id: 'r2', status: 'in_progress', tasks: 1 },
      { release_id: 'r2', status: 'pending', tasks: FILES - 1 },
    ]);

    let steps = 0;
    while (other.cleanUp()) steps += 1;
    expect(steps).toBeGreaterThan(FILES / 200);
    expect(steps).toBeLessThan(20);
    const left = rowsOf(database, 'SELECT count(*) AS units FROM task_unit');
    expect(left).toEqual([{ units: 2 * FILES }]);
  });
});

describe('tasks of files that did not change', () => {
  const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null };
  const unit = (destination: string, ...texts: readonly string[]): ModelFile => ({
    destination,
    leaves: [{ units: texts.map((text, at) => [`${at}`, text] as const) }],
  });
  const listed = (work: TestWork, releaseId: string): unknown[] =>
    work
      .tasks({ offset: 0, limit: 1000, release_id: releaseId })
      .items.map(({ destination, release_id, status }) => [destination, release_id, status]);
  const idsOf = (work: TestWork): Record<string, unknown> =>
    Object.fromEntries(
      work
        .tasks({ offset: 0, limit: 1000, release_id: work.currentTasks().releaseId })
        .items.map((task) => [task.destination, task.task_id]),
    );

  it('stay with their ids, leases, returns and targets over releases, and are listed for each of them', () => {
    const work = openTestWork();
    indexRelease(work.index, 'r1', [unit('a', 'one'), unit('b', 'two'), unit('c', 'three')]);
    buildTasks(work, 10);
    const before = idsOf(work);
    const lease = work.at(11).claimChunk(request);
    work.database
      .prepare(`UPDATE task SET stored_status = 'in_progress', reason = 'too formal' WHERE destination = 'c'`)
      .run();
    indexRelease(work.index, 'r2', [unit('a', 'one'), unit('b', 'TWO'), unit('c', 'three'), unit('d', 'x')]);
    expect(buildTasks(work, 20)).toMatchObject({ tasks: 4, units: 4, superseded: 1 });
    const after = idsOf(work);
    expect([after['a'], after['c']]).toEqual([before['a'], before['c']]);
    expect(after['b']).not.toBe(before['b']);
    // The work of before goes on: its lease holds, and its target is stored.
    const source = (): string => 'one';
    const stored = work.at(21).storeResults({
      token: lease?.token ?? '',
      results: resultsOf(lease!, () => 'T(one)', source),
      provenance: NO_PROVENANCE,
    });
    expect(stored).toMatchObject({ isHeld: true, outcomes: ['draft'] });
    expect(work.tasks({ offset: 0, limit: 10, task_id: String(before['c']) }).items).toMatchObject([
      { release_id: 'r2', reason: 'too formal' },
    ]);
    indexRelease(work.index, 'r3', [unit('a', 'one'), unit('b', 'TWO'), unit('d', 'y')]);
    expect(buildTasks(work, 30)).toMatchObject({ tasks: 3, superseded: 2 });
    expect(listed(work, 'r1')).toEqual([
      ['a', 'r3', 'in_progress'],
      ['b', 'r1', 'superseded'],
      ['c', 'r2', 'superseded'],
    ]);
    expect(listed(work, 'r2')).toEqual([
      ['a', 'r3', 'in_progress'],
      ['b', 'r3', 'pending'],
      ['c', 'r2', 'superseded'],
      ['d', 'r2', 'superseded'],
    ]);
    expect(listed(work, 'r3')).toEqual([
      ['a', 'r3', 'in_progress'],
      ['b', 'r3', 'pending'],
      ['d', 'r3', 'pending'],
    ]);
  });

  it('stay when their file was only packed again', () => {
    const work = openTestWork();
    indexRelease(work.index, 'r1', [rows('one', 'two')]);
    buildTasks(work, 10);
    const before = idsOf(work);
    indexRelease(work.index, 'r2', [{ ...rows('one', 'two'), errors: [] }]);
    expect(buildTasks(work, 20)).toMatchObject({ tasks: 1, superseded: 0 });
    expect(idsOf(work)).toEqual(before);
    indexRelease(work.index, 'r3', [{ ...rows('one', 'two'), errors: [] }]);
    expect(buildTasks(work, 30)).toMatchObject({ tasks: 1, superseded: 0 });
    expect(idsOf(work)).toEqual(before);
  });

  it('have units that are the same as in the release before', () => {
    const work = openTestWork();
    indexRelease(work.index, 'r1', [file(['a', 'one'], ['e', 'five'])]);
    buildTasks(work, 10);
    const second = file(['a', 'one'], ['c', 'new'], ['f', 'five']);
    indexRelease(work.index, 'r2', [second]);
    buildTasks(work, 20);
    expect((followed(work) as unknown[][]).map(([, tier]) => tier)).toEqual(['same', null, 'unique']);
    indexRelease(work.index, 'r3', [second, unit('new.json', 'x')]);
    buildTasks(work, 30);
    const shown = work.translations({
      releaseId: 'r3',
      generation: work.index.status().generation,
      units: work.index
        .textUnits({ offset: 0, limit: 10 })
        .items.map((each) => ({ unitId: each.unit_id, sourceDigest: each.source_digest })),
      withHistory: false,
      maxBytes: 100_000,
    });
    expect(shown.items.map(({ carried_by }) => carried_by)).toEqual(['same', 'same', 'same', null]);
  });

  it('give a unit that comes back the target that it had, at most as translated', () => {
    const work = openTestWork();
    const files = [unit('a', 'one'), unit('b', 'two')];
    indexRelease(work.index, 'r1', [file(['x', 'five']), ...files]);
    buildTasks(work, 10);
    review(work, 11);
    indexRelease(work.index, 'r2', files);
    expect(buildTasks(work, 20)).toMatchObject({ tasks: 2, superseded: 1 });
    indexRelease(work.index, 'r1', [file(['x', 'five']), ...files]);
    expect(buildTasks(work, 30)).toMatchObject({ tasks: 3, superseded: 0, carried: { unique: 1 } });
    const states = `SELECT destination, state FROM target JOIN task_unit USING (unit_id) JOIN task USING (task_seq)
      WHERE is_visible = 1 AND status <> 'superseded' ORDER BY destination`;
    expect(rowsOf(work.database, states)).toEqual([
      { destination: 'a', state: 'proofread' },
      { destination: 'a.json', state: 'translated' },
      { destination: 'b', state: 'proofread' },
    ]);
  });

  it('stay one by one in an archive of which an entry changed', () => {
    const work = openTestWork();
    const archive = (text: string): ModelFile => ({
      destination: 'b.zip',
      leaves: [
        { archiveEntry: 'x', units: [['1', 'a']] },
        { archiveEntry: 'y', units: [['2', text]] },
      ],
    });
    const entries = (): unknown[] =>
      work
        .tasks({ offset: 0, limit: 10 })
        .items.filter(({ status }) => status !== 'superseded')
        .map((task) => [task.archive_entry, task.task_id])
        .toSorted(([left], [right]) => String(left).localeCompare(String(right)));
    indexRelease(work.index, 'r1', [archive('b')]);
    buildTasks(work, 10);
    const before = entries() as string[][];
    indexRelease(work.index, 'r2', [archive('c')]);
    // A page ends within the archive.
    expect(buildTasks(work, 20, 1)).toMatchObject({ tasks: 2, units: 2, superseded: 1 });
    const after = entries() as string[][];
    expect(after[0]).toEqual(before[0]);
    expect(after[1]?.[0]).toBe('y');
    expect(after[1]?.[1]).not.toBe(before[1]?.[1]);
  });

  it('are made again when another parse run reads other units from the same bytes', () => {
    const work = openTestWork();
    const one = file(['a', 'one']);
    indexRelease(work.index, 'r1', [one]);
    buildTasks(work, 10);
    const { indexId } = work.index.begin(releaseOf('r1', [one]));
    parseFile(work.index, indexId, 0, file(['other id', 'one']));
    finishSteps(work.index.complete(indexId));
    expect(buildTasks(work, 20)).toMatchObject({ tasks: 1, superseded: 1 });
  });

  it('cost nothing: a build writes rows in proportion to what changed', () => {
    const work = openTestWork();
    const { database, index } = work;
    indexRelease(index, 'r1', manyFiles());
    buildTasks(work, 1, 1000);
    const [first] = manyFiles();
    const changed = { ...first!, leaves: [{ units: [['k', 'changed']] as const }] };
    indexRelease(index, 'r2', [changed, ...manyFiles().slice(1)]);
    const changes = (): number => Number(rowsOf(database, 'SELECT total_changes() AS count')[0]?.['count']);
    const before = changes();
    buildTasks(work, 2, 1000);
    expect(changes() - before).toBeLessThan(40);
  });
});
