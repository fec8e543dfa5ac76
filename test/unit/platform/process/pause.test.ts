import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { pause } from '../../../../src/platform/process/pause.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

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
