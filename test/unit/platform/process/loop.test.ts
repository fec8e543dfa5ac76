import { expect, test } from 'vitest';
import { createLoop, type Loop } from '../../../../src/platform/process/loop.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

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
