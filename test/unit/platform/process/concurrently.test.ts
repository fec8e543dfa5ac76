import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { forEachConcurrently } from '../../../../src/platform/process/concurrently.ts';

const never = new AbortController().signal;

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
