import { describe, expect, it } from 'vitest';
import { PLAIN } from '../../../../src/platform/terminal/painter.ts';
import { renderReleases, renderTask, renderTasks } from '../../../../src/cli/ctl/report-views.ts';
import { REPORTS } from '../../../../src/contract/reports/reports.ts';

const NOW = 1_700_000_000;
const VIEW = { now: NOW, wide: false, painter: PLAIN };
const { task } = REPORTS['task.status'].answer.schema.parse(REPORTS['task.status'].answer.example);

function ended(result: Record<string, unknown>): typeof task {
  return { ...task, status: 'succeeded', failure_code: null, failure_reason: null, result };
}

describe('the text of a task', () => {
  it.each<readonly [string, Record<string, unknown>]>([
    [
      'r1: 333 containers, 140 parsed, 193 reused',
      { release_id: 'r1', generation: 7, containers: 333, parsed: 140, reused: 193, units: 8 },
    ],
    [
      'r1-l1: published, 1 replaced entry',
      {
        published: true,
        localized_release_id: 'r1-l1',
        release_id: 'r1',
        snapshot_id: 'blake3:0',
        entry_count: 9,
        coverage: 0.5,
        replaced_entries: 1,
      },
    ],
    ['r1: unchanged', { unchanged: true, release_id: 'r1', attestation_version: 7, written: 0 }],
    ['0 damaged', { damaged: 0, releases: [] }],
  ])('is short in a list, without digests and arguments: %s', (text, result) => {
    const list = renderTasks([ended(result)], VIEW);
    expect(list.trimEnd()).toMatch(new RegExp(`\\) +${text}(?:;|$)`));
    expect(list).not.toMatch(/blake3|=/);
  });

  it('is cut in a list, and has its arguments in a wide one', () => {
    const failed = {
      ...task,
      args: { force: true },
      failure_code: 'broken',
      failure_reason: 'x'.repeat(200),
    };
    expect(renderTasks([failed], VIEW)).toMatch(/broken: x{20,100}…\n$/);
    const wide = renderTasks([failed], { ...VIEW, wide: true });
    expect(wide).toContain(' force=true ');
    expect(wide).toMatch(/broken: x{200}\n$/);
  });

  it('tells the share that a running task has done', () => {
    const progress = { done: 30, total: 60, unit: 'entries', phase: 'download' };
    expect(renderTasks([{ ...ended({}), status: 'running', progress }], VIEW)).toContain(
      'download: 50 % of 60 entries',
    );
  });

  it('has a short result on one line, and indents a long one without control characters', () => {
    expect(renderTask(ended({ written: 3 }), VIEW)).toContain('result: {"written":3}\n');
    const text = renderTask(ended({ written: 3, note: `${'y'.repeat(200)}\u202e` }), VIEW);
    expect(text).toContain('result:\n  {\n    "written": 3,\n');
    expect(text).not.toContain('\u202e');
  });

  it('has no groups of zeros in a long result, and short groups on one line', () => {
    const usage = { requests: 0, cost: 0 };
    const per_task = Array.from({ length: 5 }, (_, at) => ({ task_id: `tt_${at}`, units: 40 + at, usage }));
    const result = { units: { reused: 213, left: 7996 }, usage, stopped: null, tasks: 5, per_task };
    const text = renderTask(ended(result), VIEW);
    expect(text).not.toContain('requests');
    expect(text).toContain('    "units": {"reused":213,"left":7996},\n    "stopped": null,\n');
    const [, json = ''] = text.split('result:\n');
    expect(JSON.parse(json)).toEqual({
      units: result.units,
      stopped: null,
      tasks: 5,
      per_task: per_task.map(({ task_id, units }) => ({ task_id, units })),
    });
    expect(json.split('\n')).toHaveLength(13);
  });

  it('has the progress of a task until it has succeeded', () => {
    const progress = { done: 0, total: 333, unit: 'entries', phase: 'manifest' };
    expect(renderTask({ ...task, status: 'running', progress }, VIEW)).toMatch(
      /^progress: .* 0 of 333 entries$/m,
    );
    expect(renderTask({ ...ended({ written: 3 }), progress }, VIEW)).not.toContain('progress');
  });
});

describe('the list of releases', () => {
  it('says that a localized release is stale', () => {
    const { schema, example } = REPORTS['release.list'].answer;
    const report = schema.parse(example);
    const [row] = report.releases;
    if (row === undefined) throw new Error('the example has no release');
    const text = (stale: boolean): string =>
      renderReleases({ ...report, releases: [{ ...row, channel: 'localized', stale }] }, VIEW, undefined);
    expect(text(true)).toMatch(/ current, stale /);
    expect(text(false)).not.toContain('stale');
  });

  it('says which one was rolled back, and begins with that which became current last', () => {
    const { schema, example } = REPORTS['release.list'].answer;
    const report = schema.parse(example);
    const [row] = report.releases;
    if (row === undefined) throw new Error('the example has no release');
    const undone = { at: 1, reviewer: null, reason: null };
    const [of] = REPORTS['translation.status'].answer.schema.parse(
      REPORTS['translation.status'].answer.example,
    ).history;
    if (of === undefined) throw new Error('the example has no history');
    const releases = [
      { ...row, release_id: 'l2', state: 'superseded' as const, published_at: 200 },
      // A rollback has made the earlier one current again.
      { ...row, release_id: 'l1', published_at: 300 },
      { ...row, release_id: 'made', state: 'failed' as const, published_at: null, created_at: 250 },
    ];
    const history = ['l1', 'l2'].map((id) => ({ ...of, localized_release_id: id, rolled_back: undone }));
    const lines = renderReleases({ ...report, releases }, VIEW, history)
      .split('\n')
      .slice(1, 4);
    expect(lines).toEqual([
      expect.stringMatching(/ l1 +current /),
      expect.stringMatching(/ made +failed /),
      expect.stringMatching(/ l2 +rolled_back /),
    ]);
  });
});
