import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, test } from 'vitest';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { both, forEachConcurrently } from '../../../src/platform/process/concurrently.ts';
import { createLoop, type Loop } from '../../../src/platform/process/loop.ts';
import { pause } from '../../../src/platform/process/pause.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

describe('the clock', () => {
  describe.each([
    ['systemClock', () => systemClock],
    ['FakeClock', () => new FakeClock()],
  ])('%s', (_name, create) => {
    it('rejects a sleep with the reason of its signal', async () => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const sleep = create().sleep(3_600_000, controller.signal);
      controller.abort(reason);
      await expect(sleep).rejects.toBe(reason);
      await expect(create().sleep(1, controller.signal)).rejects.toBe(reason);
    });
  });

  describe('FakeClock', () => {
    it('wakes sleepers in order, also those that sleep again', async () => {
      const clock = new FakeClock(1_000);
      const woken: string[] = [];
      const tick = async (name: string, ms: number, times: number): Promise<void> => {
        for (let at = 0; at < times; at += 1) {
          await clock.sleep(ms);
          woken.push(`${name}@${clock.now()}`);
        }
      };
      const all = Promise.all([tick('slow', 50, 1), tick('fast', 20, 3)]);
      await clock.advance(55);
      expect(woken).toEqual(['fast@1020', 'fast@1040', 'slow@1050']);
      expect(clock.sleeping).toBe(1);
      await clock.advance(5);
      await all;
      expect([clock.now(), clock.monotonic(), clock.sleeping]).toEqual([1060, 60, 0]);
    });

    it('lets the wall clock jump alone', () => {
      const clock = new FakeClock(1_000);
      clock.jumpTo(500);
      expect([clock.now(), clock.monotonic()]).toEqual([500, 0]);
    });
  });
});

describe('a pause', () => {
  test.each(['the time is over', 'the signal is aborted'])('a pause ends when %s', async (reason) => {
    const clock = new FakeClock();
    const stopping = new AbortController();
    let hasEnded = false;
    const paused = pause(clock, 50, stopping.signal).then(() => {
      hasEnded = true;
    });
    await clock.advance(49);
    expect(hasEnded).toBe(false);
    if (reason === 'the time is over') await clock.advance(1);
    else stopping.abort(new Error('stop'));
    await paused;
    expect(clock.sleeping).toBe(0);
  });

  test('a pause does not wait when the signal is already aborted', async () => {
    await pause(systemClock, 60_000, AbortSignal.abort());
  });

  test('a pause fails with an error of the clock', async () => {
    const clock = { ...systemClock, sleep: () => Promise.reject(new Error('no timer')) };
    await expect(pause(clock, 1, new AbortController().signal)).rejects.toThrow('no timer');
  });
});

/** A loop whose turns are counted; the results of the turns are taken from a list, and then stay at the last. */
function countedLoop(results: readonly (number | Error)[]): {
  readonly clock: FakeClock;
  readonly loop: Loop;
  readonly turns: number[];
} {
  const clock = new FakeClock();
  const turns: number[] = [];
  const loop = createLoop({
    clock,
    turn: () => {
      const result = results[Math.min(turns.length, results.length - 1)] ?? 0;
      turns.push(clock.monotonic());
      if (result instanceof Error) throw result;
      return result;
    },
    onFailure: () => 5,
  });
  return { clock, loop, turns };
}

describe('a loop', () => {
  test('takes a turn at the start and after every wait that a turn asks for', async () => {
    const { clock, loop, turns } = countedLoop([10, 20]);
    await clock.advance(100);
    expect(turns).toEqual([]);
    loop.start();
    await clock.advance(55);
    expect(turns).toEqual([100, 110, 130, 150]);
    await loop.stop();
    await clock.advance(100);
    expect(turns).toHaveLength(4);
  });

  test('takes the first turn after the first wait, or sooner when it is woken', async () => {
    const clock = new FakeClock();
    const turns: number[] = [];
    const loop = createLoop({
      clock,
      firstWaitMs: 50,
      turn: () => turns.push(clock.monotonic()) * 100,
      onFailure: () => 0,
    });
    loop.start();
    await clock.advance(49);
    expect(turns).toEqual([]);
    await clock.advance(1);
    expect(turns).toEqual([50]);
    loop.wake();
    await clock.advance(1);
    expect(turns).toEqual([50, 50]);
    await loop.stop();
  });

  test('waits for longer than a timer of Node can, and never after Infinity', async () => {
    const day = 86_400_000;
    const long = countedLoop([60 * day]);
    const endless = countedLoop([Infinity]);
    for (const { clock, loop } of [long, endless]) {
      loop.start();
      await clock.advance(59 * day);
    }
    expect([long.turns, endless.turns]).toEqual([[0], [0]]);
    await long.clock.advance(day);
    expect(long.turns).toEqual([0, 60 * day]);
    for (const { loop } of [long, endless]) await loop.stop();
  });

  test('waits for a wake after a turn that returns Infinity', async () => {
    const { clock, loop, turns } = countedLoop([Infinity]);
    loop.start();
    await clock.advance(1_000_000);
    expect(turns).toEqual([0]);
    loop.wake();
    await clock.advance(1);
    expect(turns).toEqual([0, 1_000_000]);
    await loop.stop();
  });

  test('takes another turn without a wait when it is woken during a turn', async () => {
    const clock = new FakeClock();
    const gates = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
    let turns = 0;
    const loop = createLoop({
      clock,
      turn: async () => await (gates[turns++]?.promise ?? Promise.resolve(Infinity)),
      onFailure: () => 0,
    });
    loop.start();
    await clock.advance(1);
    loop.wake();
    gates[0]?.resolve(1000);
    await clock.advance(1);
    expect(turns).toBe(2);
    gates[1]?.resolve(1000);
    await clock.advance(1);
    expect(turns).toBe(2);
    await loop.stop();
  });

  test('takes the next turn after the wait that the handler of a failure asks for', async () => {
    const { clock, loop, turns } = countedLoop([new Error('broken'), 100]);
    loop.start();
    await clock.advance(6);
    expect(turns).toEqual([0, 5]);
    await loop.stop();
  });

  test('stops after the turn in progress, and does not report the error that the stop caused', async () => {
    const clock = new FakeClock();
    const failures: unknown[] = [];
    const loop = createLoop({
      clock,
      turn: async (signal) => {
        await clock.sleep(1000, signal);
        return 0;
      },
      onFailure: (error) => {
        failures.push(error);
        return 0;
      },
    });
    loop.start();
    await clock.advance(1);
    await loop.stop();
    expect(failures).toEqual([]);
    expect(clock.sleeping).toBe(0);
  });
});

const never = new AbortController().signal;

describe('work on many items', () => {
  test('works on every item, never on more than allowed concurrently, and takes no item too early', async () => {
    let running = 0;
    let most = 0;
    let taken = 0;
    const done: number[] = [];
    const items = function* items(): Generator<number> {
      for (let item = 0; item < 50; item += 1) {
        taken += 1;
        expect(taken - done.length).toBeLessThanOrEqual(4);
        yield item;
      }
    };
    await forEachConcurrently(items(), 3, never, async (item) => {
      running += 1;
      most = Math.max(most, running);
      await nextTurn();
      if (item % 7 === 0) await nextTurn();
      running -= 1;
      done.push(item);
    });
    expect(most).toBe(3);
    expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  test('the first failure stops the others, waits for them, and is thrown', async () => {
    const started: number[] = [];
    let ended = 0;
    const work = forEachConcurrently([0, 1, 2, 3, 4], 2, never, async (item, signal) => {
      started.push(item);
      if (item === 1) throw new Error('first');
      while (!signal.aborted) await nextTurn();
      ended += 1;
      throw new Error('second');
    });
    await expect(work).rejects.toThrow('first');
    expect(started).toEqual([0, 1]);
    expect(ended).toBe(1);
  });

  test('an abort ends it with the reason of the signal', async () => {
    const controller = new AbortController();
    const work = forEachConcurrently([0, 1, 2], 1, controller.signal, async () => {
      controller.abort(new Error('stop'));
      await nextTurn();
    });
    await expect(work).rejects.toThrow('stop');
  });

  test('an iterator that fails ends it after the work in progress', async () => {
    let ended = false;
    const items = async function* items(): AsyncGenerator<number> {
      yield 1;
      throw new Error('broken off');
    };
    const work = forEachConcurrently(items(), 2, never, async () => {
      await nextTurn();
      ended = true;
    });
    await expect(work).rejects.toThrow('broken off');
    expect(ended).toBe(true);
  });
});

describe('two operations', () => {
  const [one, other] = [new Error('one'), new Error('other')];

  test.each([
    ['the first fails', one, null, one, []],
    ['the second fails', null, other, other, []],
    ['both fail', one, other, one, [other]],
  ] as const)('%s: every failure is reported, after both have ended', async (...row) => {
    const [, failure, otherFailure, thrown, told] = row;
    const others: unknown[] = [];
    let ended = 0;
    const run = async (turns: number, error: Error | null): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) await nextTurn();
      ended += 1;
      if (error !== null) throw error;
    };
    for (const [turns, otherTurns] of [
      [0, 3],
      [3, 0],
    ] as const) {
      ended = 0;
      others.length = 0;
      const work = both(run(turns, failure), run(otherTurns, otherFailure), (error) => others.push(error));
      await expect(work).rejects.toBe(thrown);
      expect(ended).toBe(2);
      expect(others).toEqual(told);
    }
  });
});
