import { describe, expect, it } from 'vitest';
import { renderSummary, type Row } from '../../../scripts/test/summary.ts';

function row(values: Partial<Row>): Row {
  return { name: 'unit', passed: 1, failed: 0, skipped: 0, seconds: 1, ...values };
}

function lastLine(rows: readonly Row[], skipsFail = false): string | undefined {
  return renderSummary(rows, { skipsFail }).text.split('\n').at(-1);
}

describe('the summary of a test run', () => {
  it('ends with the totals of all stages', () => {
    expect(lastLine([row({ passed: 3, failed: 1 }), row({ passed: 4 })])).toBe('7 passed, 1 failed');
  });

  it('counts skipped tests as failed only on request', () => {
    const rows = [row({ passed: 3, skipped: 2 })];
    expect([lastLine(rows), lastLine(rows, true)]).toEqual(['3 passed, 0 failed', '3 passed, 2 failed']);
    expect(renderSummary(rows, { skipsFail: true }).failed).toBe(2);
  });

  it('lists the ten slowest files of all stages, the slowest first', () => {
    const files = Array.from({ length: 12 }, (_, index) => ({ path: `file-${index}`, seconds: index }));
    const { text } = renderSummary([row({ files: files.slice(0, 6) }), row({ files: files.slice(6) })], {
      skipsFail: false,
    });
    const listed = [...text.matchAll(/^ +[\d.]+ {2}(file-\d+)$/gm)].map(([, path]) => path);
    expect(listed).toEqual(
      files
        .slice(2)
        .toReversed()
        .map(({ path }) => path),
    );
  });

  it('repeats the first ten failures before the totals, and says how many more there are', () => {
    const failures = Array.from({ length: 13 }, (_, index) => `file: test ${index}\nbecause`);
    const lines = renderSummary([row({ name: 'arch', failures })], { skipsFail: false }).text.split('\n');
    const failed = lines.filter((line) => line.startsWith('FAILED '));
    expect(failed).toHaveLength(10);
    expect(failed[0]).toBe('FAILED in arch: file: test 0');
    expect(lines).toContain('and 3 more, see above');
  });
});
