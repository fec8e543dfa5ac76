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
  it('has digests and ids whole, and shows that a longer value is cut', () => {
    const digest = 'ab'.repeat(32);
    const text = renderTasks(
      [ended({ sha256: digest, snapshot_id: `blake3:${digest}`, long: 'x'.repeat(101) })],
      VIEW,
    );
    expect(text).toContain(`sha256=${digest} `);
    expect(text).toContain(`snapshot_id=blake3:${digest} `);
    expect(text).toContain(`long=${'x'.repeat(100)}…`);
  });

  it('has a short result on one line, and indents a long one without control characters', () => {
    expect(renderTask(ended({ written: 3 }), VIEW)).toContain('result: {"written":3}\n');
    const text = renderTask(ended({ written: 3, note: `${'y'.repeat(200)}\u202e` }), VIEW);
    expect(text).toContain('result:\n  {\n    "written": 3,\n');
    expect(text).not.toContain('\u202e');
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
      renderReleases({ ...report, releases: [{ ...row, channel: 'localized', stale }] }, VIEW);
    expect(text(true)).toMatch(/ current, stale /);
    expect(text(false)).not.toContain('stale');
  });
});
