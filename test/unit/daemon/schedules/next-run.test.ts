import { array, assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterOverlap,
  afterRequestedRuns,
  afterRun,
  isDue,
  nextSlot,
} from '../../../../src/daemon/schedules/next-run.ts';
import type { Schedule } from '../../../../src/daemon/schedules/schedule.ts';

const seconds = integer({ min: 0, max: 4_000_000_000 });
const every = integer({ min: 1, max: 100_000_000 });

function schedule(change: Partial<Schedule> = {}): Schedule {
  return {
    id: 'nightly',
    group: 'res',
    origin: 'manual',
    action: 'sync',
    args: [],
    enabled: true,
    next_run_unix_seconds: 1000,
    every_seconds: 60,
    max_runs: null,
    run_count: 0,
    last_run_unix_seconds: null,
    last_task_id: null,
    last_status: null,
    skipped_overlap: 0,
    exhausted: false,
    ...change,
  };
}

describe('the next slot', () => {
  it('property: is the first of the rate after now, without drift', () => {
    assert(
      property(seconds, every, seconds, (next, interval, now) => {
        const slot = nextSlot(next, interval, now);
        expect(slot).toBeGreaterThan(now);
        expect((slot - next) % interval).toBe(0);
        expect(slot).toBeGreaterThanOrEqual(next);
        if (slot > next) expect(slot - interval).toBeLessThanOrEqual(now);
      }),
    );
  });

  it('property: delays give at most one run per slot; without delays every slot is on time', () => {
    assert(
      property(every, array(integer({ min: 0, max: 500 }), { maxLength: 50 }), (interval, lags) => {
        let state = schedule({ next_run_unix_seconds: 1000, every_seconds: interval });
        const slots: number[] = [];
        for (const lag of lags) {
          const slot = state.next_run_unix_seconds ?? 0;
          slots.push(slot);
          state = afterRun(state, { taskId: 't', status: 'queued' }, slot + lag);
        }
        expect(new Set(slots).size).toBe(slots.length);
        expect(state.run_count).toBe(lags.length);
        if (lags.every((lag) => lag < interval)) {
          expect(slots).toEqual(lags.map((_, index) => 1000 + index * interval));
        }
      }),
    );
  });
});

describe('a schedule', () => {
  it('is due at its second and not before, and never while it is disabled', () => {
    expect([999, 1000, 1001].map((now) => isDue(schedule(), now))).toEqual([false, true, true]);
    expect(isDue(schedule({ enabled: false }), 2000)).toBe(false);
  });

  it('runs once without an interval', () => {
    expect(
      afterRun(schedule({ every_seconds: null }), { taskId: 't', status: 'queued' }, 1003),
    ).toMatchObject({
      enabled: false,
      exhausted: false,
      next_run_unix_seconds: null,
      run_count: 1,
      last_run_unix_seconds: 1003,
      last_task_id: 't',
    });
  });

  it('ends when max_runs is reached, including requested runs', () => {
    const run = { taskId: 't', status: 'queued' };
    const one = afterRun(schedule({ max_runs: 3 }), run, 1000);
    expect(one).toMatchObject({ enabled: true, exhausted: false, next_run_unix_seconds: 1060 });
    expect(afterRequestedRuns(one, [run], 1010)).toMatchObject({ next_run_unix_seconds: 1060, run_count: 2 });
    expect(afterRequestedRuns(one, [run, run], 1010)).toMatchObject({
      enabled: false,
      exhausted: true,
      next_run_unix_seconds: null,
      run_count: 3,
    });
  });

  it('counts a skipped slot, and not as a run', () => {
    expect(afterOverlap(schedule(), 1130)).toMatchObject({
      skipped_overlap: 1,
      run_count: 0,
      last_run_unix_seconds: null,
      next_run_unix_seconds: 1180,
    });
  });
});
