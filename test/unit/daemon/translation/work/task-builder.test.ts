import { describe, expect, it } from 'vitest';
import { NO_PROVENANCE } from '../../../../../src/daemon/translation/work/target-rows.ts';
import { indexRelease, type ModelFile } from '../../../../support/index-release.ts';
import {
  buildTasks,
  openTestWork,
  resultsOf,
  rowsOf,
  type TestWork,
} from '../../../../support/translation-work.ts';

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
    const lease = work.leases.claim({ ...request, after: null }, now);
    if (lease === null) break;
    const sources = new Map(
      work.index.textUnits({ offset: 0, limit: 1000 }).items.map((unit) => [unit.ordinal, unit.source_text]),
    );
    const source = (at: number): string => sources.get(lease.units[at]?.ordinal ?? -1) ?? '';
    work.leases.store(
      lease.token,
      resultsOf(lease, (at) => `T(${source(at)})`, source),
      NO_PROVENANCE,
      now,
    );
    work.leases.end(lease.token, { kind: 'done' }, now);
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
    const again = work.builder.begin('r1', work.index.status().generation, 20);
    expect(again.isComplete).toBe(true);
    expect(rowsOf(work.database, 'SELECT * FROM task')).toEqual(before);
  });

  it('continues a build where it was interrupted, and shows nothing of it before its end', () => {
    const work = openTestWork();
    indexRelease(work.index, 'r1', [rows('a', 'b', 'c')]);
    const generation = work.index.status().generation;
    const first = work.builder.begin('r1', generation, 10);
    const page = work.index.unitsAfter({ from: first.from, limit: 2, maxCharacters: 1000 });
    work.builder.add(first.buildId, page, 10);
    expect(work.builder.begin('r1', generation, 20)).toMatchObject({
      buildId: first.buildId,
      units: 2,
      isComplete: false,
    });
    expect(() => work.builder.finish(first.buildId, 20)).toThrow('has not all units yet');
    expect(rowsOf(work.database, 'SELECT 1 FROM task WHERE is_visible = 1')).toEqual([]);
    expect(buildTasks(work, 20)).toMatchObject({ tasks: 1 });
    expect(units(work)).toHaveLength(3);
  });

  it('gives up a build of a release that is no longer the current one', () => {
    const work = openTestWork();
    indexRelease(work.index, 'r1', [rows('a', 'b', 'c')]);
    const first = work.builder.begin('r1', work.index.status().generation, 10);
    work.builder.add(
      first.buildId,
      work.index.unitsAfter({ from: first.from, limit: 2, maxCharacters: 1000 }),
      10,
    );
    indexRelease(work.index, 'r2', [rows('a')]);
    const page = work.index.unitsAfter({ from: { position: 0, ordinal: 0 }, limit: 2, maxCharacters: 1000 });
    expect(() => work.builder.add(first.buildId, page, 20)).toThrow('release r2');
    buildTasks(work, 20);
    expect(rowsOf(work.database, 'SELECT release_id, is_visible FROM task')).toEqual([
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
    const task = `SELECT status, reason FROM task WHERE release_id = 'r2'`;
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
    const build = work.builder.begin('r2', work.index.status().generation, 20);
    const page = work.index.unitsAfter({ from: build.from, limit: 100, maxCharacters: 1000 });
    work.builder.add(build.buildId, page, 20);
    const lease = work.leases.claim(
      { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null },
      21,
    );
    const source = (at: number): string => ['one', 'two'][at] ?? '';
    work.leases.store(
      lease?.token ?? '',
      resultsOf(lease!, (at) => `T(${source(at)})`, source),
      NO_PROVENANCE,
      21,
    );
    work.builder.finish(build.buildId, 22);
    expect(units(work)).toEqual([
      ['untranslated', null],
      ['draft', 'T(one)'],
      ['draft', 'T(two)'],
    ]);
    expect(work.leases.heartbeat(lease?.token ?? '', 60, 23)).toBe(false);
  });
});

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
    const lease = work.leases.claim(request, 21);
    const { generation } = work.builder.current() ?? {};
    indexRelease(work.index, 'r2', second);
    expect(buildTasks(work, 30)).toEqual({ tasks: 1, carried: {}, superseded: 0 });
    expect(followed(work)).toEqual(before);
    expect(work.builder.current()).toEqual({ releaseId: 'r2', generation: work.index.status().generation });
    expect(work.builder.current()?.generation).not.toBe(generation);
    expect(work.leases.heartbeat(lease?.token ?? '', 60, 31)).toBe(true);
    expect(rowsOf(work.database, 'SELECT release_id, status FROM task ORDER BY task_seq')).toMatchObject([
      { release_id: 'r1', status: 'superseded' },
      { release_id: 'r2' },
    ]);
    const { kept, real } = counted(work);
    expect(kept).toEqual(real);
  });

  it('keeps the tiers of the release change in new tasks, of units without a target too', () => {
    const work = afterUpdate();
    const [[taskId] = []] = followed(work) as unknown[][];
    const more: ModelFile = { destination: 'b.json', leaves: [{ units: [['x', 'of other rules']] }] };
    indexRelease(work.index, 'r2', [...second, more]);
    expect(buildTasks(work, 30)).toMatchObject({ tasks: 2, superseded: 1 });
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
    expect((followed(work) as unknown[][]).map(([, tier]) => tier)).toEqual(['same', 'changed', null, null]);
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
