import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldGreatest, foldMean, ranges, runsOf } from '../../../src/console/charts/fold.ts';
import { areaPath, linePath, placeValues } from '../../../src/console/charts/line-path.ts';
import { shareLeft } from '../../../src/console/charts/ring.tsx';
import { extentOf } from '../../../src/console/charts/sparkline.tsx';
import {
  stretchesOf,
  summaryOf,
  windowOf,
  type StateWording,
} from '../../../src/console/charts/state-summary.ts';
import { placeParts, type StoragePart } from '../../../src/console/charts/storage-bar.tsx';
import { evenRates } from '../../../src/console/charts/throughput-curve.tsx';
import { meanRate, secondsLeft, speedsOf } from '../../../src/console/charts/throughput.ts';
import { hourTicks } from '../../../src/console/charts/time-ticks.ts';
import {
  countFiles,
  partsOf,
  unitsLeft,
  type CountedTask,
} from '../../../src/console/translate/queue/folder-coverage.ts';

const LOOKS: Readonly<Record<string, StateWording>> = {
  healthy: { tone: 'ok', text: 'Healthy' },
  damaged: { tone: 'bad', text: 'Damaged' },
};
const lookOf = (state: string): StateWording => LOOKS[state] ?? { tone: 'idle', text: state };

describe('charts', () => {
  describe('a day of states', () => {
    it('ends at the last minute; the time before the first one is unknown', () => {
      expect(windowOf(['a', null, 'b'], 5)).toEqual([null, null, 'a', null, 'b']);
      expect(windowOf(['a', 'b', 'c'], 2)).toEqual(['b', 'c']);
    });

    it('has a sentence, the worst state first, with the gaps', () => {
      const stretches = stretchesOf([null, 'healthy', 'damaged', 'healthy', 'damaged', 'damaged'], 600);
      expect(stretches[2]).toEqual({ state: 'damaged', from: 720, to: 780 });
      expect(summaryOf(stretches, lookOf)).toBe(
        'Damaged for 3 min, 2 times; Healthy for 2 min, 2 times; no record for 1 min',
      );
      expect(summaryOf([], lookOf)).toBe('');
    });

    it('has a mark at every full hour of the clock, with as many texts as there is room for', () => {
      const midnight = new Date(2026, 10, 23).getTime() / 1000;
      const ticks = hourTicks(midnight + 60, midnight + 86_460, 8);
      expect(ticks).toHaveLength(24);
      expect(ticks.filter(({ label }) => label !== null).map(({ label }) => label)).toEqual([
        '03:00',
        '06:00',
        '09:00',
        '12:00',
        '15:00',
        '18:00',
        '21:00',
        '00:00',
      ]);
      expect(ticks[0]?.share).toBeCloseTo((3600 - 60) / 86_400);
      expect(hourTicks(midnight, midnight + 86_400, 1).filter(({ label }) => label !== null)).toHaveLength(1);
    });
  });

  describe('the numbers of a sparkline', () => {
    it('are the least, the greatest and the last known one', () => {
      expect(extentOf([null, 4, 9, 2, null])).toEqual({ least: 2, greatest: 9, last: 2 });
      expect(extentOf([null, null])).toBeNull();
    });
  });

  describe('a countdown', () => {
    it('goes from full to empty and stays within both', () => {
      expect([50, 100, 150, 200, 250].map((now) => shareLeft(100, 200, now))).toEqual([1, 1, 0.5, 0, 0]);
      expect(shareLeft(200, 200, 100)).toBe(0);
    });
  });

  describe('the bar of a volume', () => {
    it('shows a small part with a visible width, and leaves out empty ones', () => {
      const parts: StoragePart[] = [
        { kind: 'current', text: 'Current', size: 1_000_000 },
        { kind: 'quarantine', text: 'Quarantine', size: 1 },
        { kind: 'reclaimable', text: 'Reclaimable', size: 0 },
        { kind: 'free', text: 'Free', size: 1_000_000 },
      ];
      const placed = placeParts(parts, 300);
      expect(placed.map(({ kind }) => kind)).toEqual(['current', 'quarantine', 'free']);
      expect(placed[1]?.width).toBeGreaterThanOrEqual(2);
      expect((placed[2]?.x ?? 0) + (placed[2]?.width ?? 0)).toBeCloseTo(300);
      expect(placeParts([], 300)).toEqual([]);
    });
  });

  describe('the speed of a task', () => {
    const samples = [
      { at: 0, done: 0, phase: 'compare' },
      { at: 2, done: 10, phase: 'compare' },
      { at: 3, done: 0, phase: 'download' },
      { at: 5, done: 400, phase: 'download' },
      { at: 6, done: 300, phase: 'download' },
      { at: 10, done: 700, phase: 'download' },
    ];

    it('is known for each phase alone, and not when progress goes back', () => {
      expect(speedsOf(samples)).toEqual([
        { from: 0, to: 2, rate: 5 },
        { from: 3, to: 5, rate: 200 },
        { from: 6, to: 10, rate: 100 },
      ]);
    });

    it('tells the time left at the mean speed of the last seconds', () => {
      const speeds = speedsOf(samples.slice(2));
      expect(meanRate(speeds, Infinity)).toBeCloseTo(800 / 6);
      expect(meanRate(speeds, 4)).toBe(100);
      expect(secondsLeft({ done: 700, total: 1000 }, speeds, 4)).toBe(3);
      expect(secondsLeft({ done: 700, total: null }, speeds)).toBeNull();
      expect(secondsLeft({ done: 700, total: 1000 }, [])).toBeNull();
      expect(secondsLeft({ done: 0, total: 10 }, [{ from: 0, to: 1, rate: 0 }])).toBeNull();
      expect(secondsLeft({ done: 12, total: 10 }, speeds)).toBe(0);
    });

    it('is placed by time, with a gap where it is unknown', () => {
      const rates = evenRates(speedsOf(samples), 10);
      expect(rates).toEqual([5, 5, null, 200, 200, null, 100, 100, 100, 100]);
      expect(evenRates([])).toEqual([]);
    });
  });
});

const VALUES = fc.array(fc.option(fc.integer({ min: -1000, max: 1000 })), { maxLength: 1500 });

describe('folding a list into columns', () => {
  it('covers every item once, in nearly equal ranges', () => {
    fc.assert(
      fc.property(fc.nat(2000), fc.nat(500), (length, slots) => {
        const found = ranges(length, slots);
        expect(found.length).toBe(Math.min(length, slots));
        expect(
          found.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index)),
        ).toEqual(slots === 0 ? [] : Array.from({ length }, (_, index) => index));
        const sizes = found.map(({ from, to }) => to - from);
        if (sizes.length > 0) expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
      { numRuns: 50 },
    );
  });

  it('never loses the greatest value', () => {
    fc.assert(
      fc.property(VALUES, fc.integer({ min: 1, max: 300 }), (values, slots) => {
        const known = values.filter((value) => value !== null);
        const folded = foldGreatest(values, slots, (value) => value).filter((value) => value !== null);
        expect(Math.max(...folded)).toBe(Math.max(...known));
      }),
    );
  });

  it('shows one bad minute of a day in a narrow chart', () => {
    const minutes = new Array<string | null>(1440).fill('healthy');
    minutes[700] = 'damaged';
    const folded = foldGreatest(minutes, 160, (state) => (state === 'damaged' ? 1 : 0));
    expect(folded.filter((state) => state === 'damaged')).toHaveLength(1);
  });

  it('takes the mean of the known values, and keeps gaps', () => {
    expect(foldMean([1, 3, null, 5, null, null], 3)).toEqual([2, 5, null]);
    expect(foldMean([], 10)).toEqual([]);
    expect(foldMean([7], 10)).toEqual([7]);
  });

  it('joins equal neighbours', () => {
    expect(runsOf(['a', 'a', null, null, 'a'])).toEqual([
      { value: 'a', from: 0, to: 2 },
      { value: null, from: 2, to: 4 },
      { value: 'a', from: 4, to: 5 },
    ]);
    expect(runsOf([])).toEqual([]);
  });
});

const BOX = { width: 100, height: 10 };

describe('the line of a chart', () => {
  it('goes from the left to the right edge, zero at the bottom', () => {
    expect(placeValues([0, 5, 10], BOX, 10)).toEqual([
      [
        { x: 0, y: 10 },
        { x: 50, y: 5 },
        { x: 100, y: 0 },
      ],
    ]);
  });

  it('has a gap where nothing is known, and shows a value between two gaps', () => {
    const parts = placeValues([4, 4, null, 4, null], BOX, 4);
    expect(parts).toHaveLength(2);
    expect(linePath(parts)).toBe('M0 0L25 0M74 0h2');
    expect(areaPath(parts, 10)).toBe('M0 10L0 0L25 0L25 10Z');
  });

  it('lies at the bottom when every value is zero, and never leaves its box', () => {
    expect(linePath(placeValues([0, 0], BOX, 0))).toBe('M0 10L100 10');
    expect(placeValues([-5, 50], BOX, 10)).toEqual([
      [
        { x: 0, y: 10 },
        { x: 100, y: 0 },
      ],
    ]);
    expect(linePath(placeValues([3], BOX, 3))).toBe('M49 0h2');
    expect([linePath([]), linePath([[]]), areaPath([], 10)]).toEqual(['', '', '']);
  });
});

function task(
  destination: string,
  counts: Record<string, number>,
  change: Partial<CountedTask> = {},
): CountedTask {
  return {
    task_id: `tt_${destination}`,
    destination,
    status: 'pending',
    unit_counts: counts,
    ...change,
  } as CountedTask;
}

const FILES = countFiles(
  countFiles(new Map(), [
    task('a/b/one.json', { untranslated: 6, proofread: 4 }),
    task('a/b/two.zip', { draft: 5 }),
  ]),
  [
    task('a/b/two.zip', { proofread: 5 }, { task_id: 'tt_second' }),
    task('a/c.csv', { proofread: 3 }),
    task('a/skipped.json', { untranslated: 9 }, { status: 'skipped' }),
  ],
);

describe('the coverage of folders', () => {
  it('sums up their files by state, without tasks that nobody translates; most work first', () => {
    expect(partsOf(FILES.values(), 'a')).toEqual([
      { path: 'a/b', counts: { untranslated: 6, proofread: 9, draft: 5 }, taskId: null },
      { path: 'a/c.csv', counts: { proofread: 3 }, taskId: 'tt_a/c.csv' },
    ]);
    expect(partsOf(FILES.values(), 'a').map(({ counts }) => unitsLeft(counts))).toEqual([11, 0]);
  });

  it('opens a folder that holds only one folder', () => {
    expect(partsOf(FILES.values(), '')).toEqual(partsOf(FILES.values(), 'a'));
  });

  it('counts all tasks of a file, and leads to the first', () => {
    expect(partsOf(FILES.values(), 'a/b').map(({ path, counts, taskId }) => [path, counts, taskId])).toEqual([
      ['a/b/one.json', { untranslated: 6, proofread: 4 }, 'tt_a/b/one.json'],
      ['a/b/two.zip', { draft: 5, proofread: 5 }, 'tt_a/b/two.zip'],
    ]);
  });

  it('is empty where no file is, also beside a folder of a similar name', () => {
    expect(partsOf(FILES.values(), 'a/b/on')).toEqual([]);
    expect(partsOf(new Map<string, never>().values(), '')).toEqual([]);
  });
});
