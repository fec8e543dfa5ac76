import { describe, expect, it } from 'vitest';
import { TranslationTasksReport } from '../../../../src/contract/reports/report-translation.ts';
import { readTasks } from '../../../../src/localization/translation/translation-reports.ts';
import { NO_PROVENANCE } from '../../../../src/localization/translation/work/store/target-rows.ts';
import type { TaskQuery } from '../../../../src/localization/translation/work/store/task-page.ts';
import { aroundCalls, callerInProcess } from '../../../support/caller-in-process.ts';
import { indexRelease } from '../../../support/index-release.ts';
import { buildTasks, openTestWork, resultsOf, type TestWork } from '../../../support/translation-work.ts';

/** Five tasks of the current release, and two of the previous one, whose files have changed. */
function open(): TestWork {
  const work = openTestWork();
  const file = (destination: string, archiveEntry: string | null, format: string, text = 'text') => ({
    destination,
    leaves: [{ archiveEntry, format, units: [[destination + String(archiveEntry), text]] as const }],
  });
  indexRelease(work.index, 'r1', [file('a.json', null, 'json'), file('b.zip', 'x', 'json')]);
  buildTasks(work, 10);
  const two = file('c.zip', 'x', 'csv');
  indexRelease(work.index, 'r2', [
    file('a.json', null, 'json', 'other'),
    file('b.zip', 'x', 'json', 'other'),
    { ...two, leaves: [...two.leaves, ...file('c.zip', 'y', 'csv').leaves] },
    file('d.json', null, 'json'),
  ]);
  buildTasks(work, 20);
  const change = (destination: string, set: string): void => {
    work.database
      .prepare(`UPDATE task SET ${set} WHERE destination = ? AND status <> 'superseded'`)
      .run(destination);
  };
  change('a.json', `status = 'skipped', reason = 'no text for players'`);
  change('b.zip', `status = 'failed', worker_status = 'failed', failure_reason = 'http 500'`);
  change('c.zip', 'untranslated = 0, draft = 1, translated = 2');
  change('d.json', `parse_status = 'partial', reason = ''`);
  return work;
}

const page = (work: TestWork, query: Partial<TaskQuery>) => work.tasks({ offset: 0, limit: 100, ...query });

const places = (work: TestWork, query: Partial<TaskQuery>): string[] =>
  page(work, query).items.map((task) => `${task.release_id}/${task.destination}/${task.archive_entry ?? ''}`);

/** A worker stores targets of a task. */
function translate(work: TestWork, source: string, target: string) {
  const claim = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null };
  const lease = work.at(40).claimChunk(claim)!;
  const results = resultsOf(
    lease,
    () => target,
    () => source,
  );
  work.at(50).storeResults({ token: lease.token, results, provenance: NO_PROVENANCE });
  return { taskId: lease.taskId, units: results.length };
}

/** Each task that has targets which a query chooses, with their number, and the calls that were made. */
async function count(work: TestWork, query: Partial<TaskQuery>) {
  const calls: string[] = [];
  const thread = aroundCalls(callerInProcess<TestWork>(work), async (name, call) => {
    calls.push(name);
    return await call();
  });
  const all = { offset: 0, limit: 100, ...query };
  const { items } = await readTasks(thread, all, new AbortController().signal);
  return { counted: items.map(({ task_id: id, chosen_units: units }) => [id, units]), calls };
}

describe('translation.tasks', () => {
  it('lists tasks in their order, superseded ones last, as the contract says', () => {
    const work = open();
    const body = page(work, {});
    expect(TranslationTasksReport.body.parse(body)).toEqual(body);
    expect(body).toMatchObject({ total: 7, counts: { failed: 1, pending: 3, skipped: 1, superseded: 2 } });
    expect(places(work, { release_id: 'r2' })).toEqual([
      'r2/a.json/',
      'r2/b.zip/x',
      'r2/c.zip/x',
      'r2/c.zip/y',
      'r2/d.json/',
    ]);
    expect(places(work, {}).slice(5)).toEqual(['r1/a.json/', 'r1/b.zip/x']);
    expect(body.items[0]?.unit_counts).toEqual({ untranslated: 1 });
    expect(work.status({ include: [], exclude: [] }).tasks).toEqual(body.counts);
  });

  it.each<[Partial<TaskQuery>, number]>([
    [{ release_id: 'r1' }, 2],
    [{ release_id: 'r3' }, 0],
    [{ destination: 'c.zip' }, 2],
    [{ destination: '*.zip' }, 4],
    [{ destination: '?.json' }, 3],
    [{ destination: '*[a]*' }, 0],
    [{ archive_entry: 'x' }, 3],
    [{ archive_entry: 'x', destination: 'c.zip' }, 1],
    [{ status: 'superseded' }, 2],
    [{ status: 'no such status' }, 0],
    [{ unit_state: 'translated' }, 2],
    [{ unit_state: 'untranslated' }, 5],
    [{ unit_state: 'untranslated,draft', release_id: 'r2' }, 5],
    [{ unit_state: 'stale,no such state' }, 0],
    [{ unit_state: '' }, 0],
    [{ worker_status: 'failed' }, 1],
    [{ parse_status: 'partial' }, 1],
    [{ format: 'csv' }, 2],
    [{ has_reason: true }, 1],
    [{ has_reason: false }, 6],
    [{ has_failure_reason: true }, 1],
    [{ has_failure_reason: false, release_id: 'r2' }, 4],
  ])('selects by %j', (query, expected) => {
    const work = open();
    const { total, items, counts } = page(work, query);
    expect([total, items.length]).toEqual([expected, expected]);
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(expected);
  });

  it('counts the targets of a token, a run or a time, and those that a change of a term is about', async () => {
    const work = open();
    const { taskId, units } = translate(work, 'text', 'The Sensei');
    const counted = async (query: Partial<TaskQuery>): Promise<unknown> => (await count(work, query)).counted;
    const one = [[taskId, units]];
    expect(await counted({ undo_since: 50 })).toEqual(one);
    expect(await counted({ undo_since: 51 })).toEqual([]);
    expect(await counted({ undo_since: 0, undo_author: 'nobody' })).toEqual([]);
    expect(await counted({ term_source: 'absent\nTEX' })).toEqual(one);
    expect(await counted({ term_source: 'text', term_target: 'teacher\nsensei' })).toEqual([]);
    expect(await counted({ term_source: 'text', term_target: 'teacher\nsensei', term_kept: true })).toEqual(
      one,
    );
    expect(await counted({ term_source: 'text', term_target: 'teacher' })).toEqual(one);
    expect(await counted({ term_source: '' })).toEqual([]);
    expect(await counted({ task_id: taskId })).toEqual([[taskId, undefined]]);
  });

  it('finds a term in small and capital letters of every script, and takes signs of SQL for themselves', async () => {
    const work = open();
    const { taskId, units } = translate(work, '50% of an Épée', 'Ein ÄSTHET');
    const one = [[taskId, units]];
    for (const query of [
      { term_source: 'épée' },
      { term_source: 'absent\nÉPÉE' },
      { term_source: '50% OF' },
      { term_source: 'of', term_target: 'ästhet', term_kept: true },
    ]) {
      expect((await count(work, query)).counted).toEqual(one);
    }
    for (const query of [
      { term_source: 'epee' },
      { term_source: '5_%' },
      { term_source: 'épée', term_target: 'ästhet' },
    ]) {
      expect((await count(work, query)).counted).toEqual([]);
    }
  });

  it('counts the targets in several calls, between which others are answered', async () => {
    const work = open();
    const first = translate(work, 'text', 'a');
    const second = translate(work, 'text', 'b');
    const third = translate(work, 'text', 'c');
    const counts = [first, second, third].map(({ taskId, units }) => [taskId, units]);
    expect((await count(work, { undo_since: 50 })).calls).toEqual(['countChosen', 'tasks']);
    // The first row after a step, and the last row of one.
    for (const [target, row] of [
      ['b', 10_000],
      ['c', 29_999],
    ] as const) {
      work.database.prepare('UPDATE target SET rowid = ? WHERE target_text = ?').run(row, target);
    }
    const { counted, calls } = await count(work, { undo_since: 50 });
    expect(counted).toEqual(counts);
    expect(calls).toEqual(['countChosen', 'countChosen', 'countChosen', 'tasks']);
    expect((await count(work, { status: 'pending' })).calls).toEqual(['countChosen', 'tasks']);
  });

  it('selects one task by its id', () => {
    const work = open();
    const [first] = page(work, { destination: 'd.json' }).items;
    expect(page(work, { task_id: first!.task_id }).items).toEqual([first]);
  });

  it('gives every task once over all pages, and counts over all of them', () => {
    const work = open();
    const pages = [0, 3, 6, 9].map((offset) => page(work, { offset, limit: 3 }));
    expect(pages.flatMap(({ items }) => items)).toEqual(page(work, {}).items);
    for (const { total, counts } of pages) expect([total, counts]).toEqual([7, page(work, {}).counts]);
  });

  it.each(['build_id', 'destination', 'archive_entry', 'status', 'worker_status', 'parse_status', 'format'])(
    'has an index for the filter %s',
    (column) => {
      const { database } = open();
      const plan = database.prepare(
        `EXPLAIN QUERY PLAN SELECT count(*) FROM task WHERE is_visible = 1 AND ${column} = ?`,
      );
      expect(
        plan
          .all('x')
          .map((row) => String(row['detail']))
          .join(),
      ).toMatch(/USING (COVERING )?INDEX task_/);
    },
  );
});
