import { expect, test } from 'vitest';
import { createProgressDisplay } from '../../../../src/cli/output/progress-display.ts';

interface Shown {
  readonly written: readonly string[];
  readonly show: (afterMs: number, text: string, phase?: string) => void;
  readonly end: () => void;
}

function display(terminal: { readonly isTTY?: boolean; readonly columns?: number }): Shown {
  let now = 0;
  const written: string[] = [];
  const clock = { now: () => now, monotonic: () => now, sleep: async () => await Promise.resolve() };
  const line = createProgressDisplay({ ...terminal, write: (text) => written.push(text) }, clock);
  return {
    written,
    end: () => {
      line.end();
    },
    show: (afterMs, text, phase) => {
      now += afterMs;
      line.show(text, phase);
    },
  };
}

test('without a terminal a line is for a new phase and for 10 seconds', () => {
  const { written, show, end } = display({});
  show(100, 'download 1 %', 'download');
  for (let percent = 2; percent < 22; percent += 1) show(1000, `download ${percent} %`, 'download');
  show(100, 'verify 1 %', 'verify');
  end();
  expect(written).toEqual(['download 1 %\n', 'download 11 %\n', 'download 21 %\n', 'verify 1 %\n']);
});

test('a terminal has one line, which is cut so that it does not wrap', () => {
  const { written, show, end } = display({ isTTY: true, columns: 10 });
  show(300, 'download 1 %');
  show(300, 'short');
  end();
  expect(written).toEqual(['\r\u001b[Kdownload…', '\r\u001b[Kshort', '\r\u001b[K']);
});
