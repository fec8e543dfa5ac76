import { describe, expect, it } from 'vitest';
import { execute, processorSecondsIn } from '../../../scripts/test/execute.ts';
import { lineCoverage, markRan, type ScriptCoverage } from '../../../scripts/test/line-coverage.ts';
import { renderSummary, type Row } from '../../../scripts/test/summary.ts';
import { requireNode } from '../../support/require-node.ts';

describe('a step of a run', () => {
  describe('a command', () => {
    it.each([
      ['that succeeds', 'true', [], 0],
      ['that fails', 'sh', ['-c', 'exit 7'], 7],
      ['that is killed', 'sh', ['-c', 'kill -KILL $$'], 137],
    ] as const)('%s gives its exit code', async (_, command, args, code) => {
      expect((await execute(command, args)).code).toBe(code);
    });

    it('gives its processor time, and that of its children', async () => {
      const busy = 'while (process.cpuUsage().user < 300_000);';
      const { processorSeconds } = await execute('sh', ['-c', `${process.execPath} -e '${busy}'; true`]);
      expect(processorSeconds).toBeGreaterThanOrEqual(0.3);
    });
  });

  it('reads the times that shells print', () => {
    expect(processorSecondsIn('0m0.010000s 0m0.000000s\n1m2.500000s 0m0.250000s\n')).toBeCloseTo(62.76);
    expect(processorSecondsIn('0m0,010s 0m0,000s\n0m1,500s 0m0,250s\n')).toBeCloseTo(1.76);
    expect(processorSecondsIn('')).toBe(0);
  });
});

const SOURCE = `/** Adds. */
export function sum(a, b) {
  if (a === 0) {
    return b;
  }

  // Both.
  return a + b;
}
`;
const at = (text: string): number => SOURCE.indexOf(text);

function report(branchCount: number, restCount: number): ScriptCoverage {
  const whole = { startOffset: 0, endOffset: SOURCE.length, count: 1 };
  const branch = { startOffset: at('    return b'), endOffset: at('\n\n'), count: branchCount };
  const rest = { startOffset: at('  return a +'), endOffset: SOURCE.lastIndexOf('}'), count: restCount };
  return { url: 'file:///sum.ts', functions: [{ ranges: [whole] }, { ranges: [branch, rest] }] };
}

describe('the coverage of lines', () => {
  it('counts the lines of code that ran in any process', () => {
    const ran = new Uint8Array(SOURCE.length);
    expect(lineCoverage(SOURCE, ran)).toEqual({ lines: 6, covered: 0 });
    markRan(ran, report(0, 1));
    expect(lineCoverage(SOURCE, ran)).toEqual({ lines: 6, covered: 4 });
    markRan(ran, report(1, 0));
    expect(lineCoverage(SOURCE, ran)).toEqual({ lines: 6, covered: 6 });
  });
});

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

  it('lists the ten files of each stage that took most of a processor, the dearest first', () => {
    const files = Array.from({ length: 12 }, (_, index) => ({
      path: `file-${index}`,
      seconds: 60 - index,
      processorSeconds: index,
    }));
    const { text } = renderSummary([row({ files }), row({ name: 'arch', files: files.slice(0, 1) })], {
      skipsFail: false,
    });
    const listed = [...text.matchAll(/^ +[\d.]+ +[\d.]+ {2}(file-\d+)$/gm)].map(([, path]) => path);
    const dearest = files.slice(2).toReversed();
    expect(listed).toEqual([...dearest.map(({ path }) => path), 'file-0']);
    expect(text).toContain('dearest files of arch');
  });

  it('sorts files by their wall time where the system tells no other', () => {
    const files = [1, 3, 2].map((seconds) => ({ path: `file-${seconds}`, seconds }));
    const { text } = renderSummary([row({ files })], { skipsFail: false });
    expect([...text.matchAll(/file-\d/g)].map(([path]) => path)).toEqual(['file-3', 'file-2', 'file-1']);
  });

  it('says how long the processors were busy in a stage', () => {
    const { text } = renderSummary([row({ seconds: 10, processorSeconds: 15 }), row({ name: 'arch' })], {
      skipsFail: false,
    });
    expect(text).toMatch(/^unit .* 10\.0 +15\.0 +1\.50$/m);
    expect(text).toMatch(/^arch .* 1\.0$/m);
  });

  it('repeats the first ten failures before the totals, and says how many more there are', () => {
    const failures = Array.from({ length: 13 }, (_, index) => `file: test ${index}\nbecause`);
    const lines = renderSummary([row({ name: 'arch', failures })], { skipsFail: false }).text.split('\n');
    const failed = lines.filter((line) => line.startsWith('FAILED '));
    expect(failed).toHaveLength(10);
    expect(failed[0]).toBe('FAILED in arch: file: test 0');
    expect(lines).toContain('and 3 more, see above');
  });

  it('names the skipped tests', () => {
    const skips = ['test/integration/a.test.ts: a disk that rots is noticed'];
    const { text } = renderSummary([row({ name: 'integration', skipped: 1, skips })], { skipsFail: true });
    expect(text).toContain('SKIPPED in integration: test/integration/a.test.ts: a disk that rots is noticed');
  });
});

const SUPPORTED = '^24.14.1 || >=26.0.0';

describe('the Node that runs the tests', () => {
  it.each(['24.14.1', '24.15.0', '24.100.0', '26.0.0', '26.10.0', '28.1.2'])('may be %s', (version) => {
    expect(() => requireNode(version, SUPPORTED)).not.toThrow();
  });

  it.each(['20.20.2', '24.9.0', '24.14.0', '25.1.0'])('may not be %s, with advice', (version) => {
    expect(() => requireNode(version, SUPPORTED)).toThrow(
      `The tests of Slipway need Node.js ${SUPPORTED}, and this is ${version}. Put the Node of this checkout first: PATH="$(scripts/setup.sh development):$PATH"`,
    );
  });
});
