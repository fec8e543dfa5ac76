import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { DEFAULT_CDN_LIMITS } from '../../../../src/server/bytes/cdn-limits.ts';
import {
  createDrainWatch,
  type StalledSide,
  type WatchedResponse,
} from '../../../../src/server/bytes/drain-watch.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

const { minimumBytesPerSecond, drainWindowMs: windowMs } = DEFAULT_CDN_LIMITS;
const MIB = 1024 * 1024;

/** A client whose bytes taken the test sets. */
function start(initial: { readonly headersSent?: boolean } = {}): {
  readonly clock: FakeClock;
  readonly sendHeaders: () => void;
  /** Sets the bytes that wait in the process for the client. */
  readonly setPending: (bytes: number) => void;
  readonly take: (bytes: number) => void;
  /** Sets the bytes that the system holds; `null` if it does not tell. */
  readonly setQueue: (bytes: number | null) => void;
  readonly cutAt: () => number | null;
  /** The side that was found to stall. */
  readonly stalled: () => StalledSide | null;
  readonly close: () => void;
} {
  const clock = new FakeClock();
  const pending = 1000;
  const socket = { bytesWritten: pending, writableLength: pending };
  let { headersSent = true } = initial;
  const closeListeners: Array<() => void> = [];
  const response: WatchedResponse = {
    socket: socket as Socket,
    get headersSent() {
      return headersSent;
    },
    closed: false,
    once: (_event, listener) => closeListeners.push(listener),
  };
  let cutAt: number | null = null;
  let side: StalledSide | null = null;
  let queue: number | null = 0;
  const watch = createDrainWatch({
    clock,
    minimumBytesPerSecond,
    windowMs,
    readQueues: () => () => queue,
  });
  watch.watch(response, (stalled) => {
    side = stalled;
    cutAt = clock.monotonic();
  });
  return {
    clock,
    sendHeaders: () => {
      headersSent = true;
    },
    setPending: (bytes) => {
      socket.bytesWritten += bytes - socket.writableLength;
      socket.writableLength = bytes;
    },
    take: (bytes) => {
      socket.bytesWritten += bytes;
    },
    setQueue: (bytes) => {
      queue = bytes;
    },
    cutAt: () => cutAt,
    stalled: () => side,
    close: () => {
      for (const listener of closeListeners) listener();
    },
  };
}

test('a client that takes nothing is cut within 30 s', async () => {
  const { clock, cutAt } = start();
  await clock.advance(30_000);
  expect(cutAt()).toBe(30_000);
});

test('a client that stops after megabytes of buffers were filled is also cut within 30 s', async () => {
  const { clock, take, cutAt } = start();
  await clock.advance(1);
  take(8 * MIB);
  await clock.advance(32_000);
  expect(cutAt()).not.toBeNull();
});

test('a client below the minimum rate is cut within 30 s, and one above it never', async () => {
  const slow = start();
  const steady = start();
  for (let second = 1; second <= 120; second += 1) {
    slow.take(minimumBytesPerSecond * 0.8);
    steady.take(minimumBytesPerSecond * 1.3);
    await slow.clock.advance(1000);
    await steady.clock.advance(1000);
  }
  expect(slow.cutAt()).toBeLessThanOrEqual(30_000);
  expect(steady.cutAt()).toBeNull();
});

test('a client that takes its bytes in large steps, as the system hands them over, is never cut', async () => {
  const { clock, take, cutAt } = start();
  for (let step = 0; step < 12; step += 1) {
    take(1.3 * MIB);
    await clock.advance(20_000);
  }
  expect(cutAt()).toBeNull();
});

test('a client that drains the buffers of the system slowly is not cut, and is cut when it stops', async () => {
  const { clock, take, setQueue, cutAt } = start();
  take(8 * MIB);
  for (let second = 0; second < 100; second += 1) {
    setQueue(8 * MIB - second * 50_000);
    await clock.advance(1000);
  }
  expect(cutAt()).toBeNull();
  await clock.advance(62_000);
  expect(cutAt()).not.toBeNull();
});

test('where the system does not tell what a client acknowledges, it has four windows', async () => {
  const { clock, take, setQueue, cutAt } = start();
  setQueue(null);
  take(8 * MIB);
  await clock.advance(119_000);
  expect(cutAt()).toBeNull();
  await clock.advance(3_000);
  expect(cutAt()).not.toBeNull();
});

test('a client is not cut while nothing is offered to it, even if the volume takes two minutes, and then has a window', async () => {
  const { clock, setPending, cutAt } = start();
  await clock.advance(20_000);
  setPending(0);
  await clock.advance(120_000);
  expect(cutAt()).toBeNull();
  setPending(1000);
  await clock.advance(29_000);
  expect(cutAt()).toBeNull();
  await clock.advance(3_000);
  expect(cutAt()).not.toBeNull();
});

test('the wait for the first bytes of the volume is bounded and is not part of the window of a client', async () => {
  const hung = start({ headersSent: false });
  hung.setPending(0);
  await hung.clock.advance(30_000);
  expect(hung.cutAt()).toBe(30_000);

  const slow = start({ headersSent: false });
  slow.setPending(0);
  await slow.clock.advance(29_000);
  slow.sendHeaders();
  slow.setPending(1000);
  await slow.clock.advance(29_000);
  expect(slow.cutAt()).toBeNull();
  await slow.clock.advance(3_000);
  expect(slow.cutAt()).not.toBeNull();
});

test('a volume that stops in the middle of a response is found in about two minutes, and any byte is progress', async () => {
  const { clock, setPending, take, cutAt, stalled } = start();
  await clock.advance(10_000);
  setPending(0);
  for (let step = 0; step < 5; step += 1) {
    await clock.advance(110_000);
    take(1);
  }
  expect(cutAt()).toBeNull();
  await clock.advance(118_000);
  expect(cutAt()).toBeNull();
  await clock.advance(4000);
  expect(stalled()).toBe('volume');
});

test('a response that is closed is watched no more', async () => {
  const { clock, cutAt, close } = start();
  close();
  await clock.advance(100_000);
  expect(cutAt()).toBeNull();
  expect(clock.sleeping).toBe(0);
});
