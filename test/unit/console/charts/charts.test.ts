import { describe, expect, it } from 'vitest';
import { shareLeft } from '../../../../src/console/charts/ring.tsx';
import { extentOf } from '../../../../src/console/charts/sparkline.tsx';
import {
  summaryOf,
  stretchesOf,
  windowOf,
  type StateWording,
} from '../../../../src/console/charts/state-summary.ts';
import { placeParts, type StoragePart } from '../../../../src/console/charts/storage-bar.tsx';
import { evenRates } from '../../../../src/console/charts/throughput-curve.tsx';
import { meanRate, secondsLeft, speedsOf } from '../../../../src/console/charts/throughput.ts';
import { hourTicks } from '../../../../src/console/charts/time-ticks.ts';

const LOOKS: Readonly<Record<string, StateWording>> = {
  healthy: { tone: 'ok', text: 'Healthy' },
  damaged: { tone: 'bad', text: 'Damaged' },
};
const lookOf = (state: string): StateWording => LOOKS[state] ?? { tone: 'idle', text: state };

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
