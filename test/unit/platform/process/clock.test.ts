import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

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
