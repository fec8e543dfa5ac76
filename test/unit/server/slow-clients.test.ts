import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import process from 'node:process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Blake3Hex } from '../../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../../src/domain/release/manifest.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { BlockCache } from '../../../src/server/bytes/block-cache.ts';
import { createBodySender, type SendBody } from '../../../src/server/bytes/body-sender.ts';
import { DEFAULT_BYTE_PATH_LIMITS } from '../../../src/server/bytes/byte-path-limits.ts';
import { createDrainWatch, type StalledSide } from '../../../src/server/bytes/drain-watch.ts';
import { InFlightBudget, SLICE_BYTES } from '../../../src/server/bytes/in-flight-budget.ts';
import type { ByteResponse } from '../../../src/server/bytes/outflow.ts';
import { ReadBuffers } from '../../../src/server/bytes/read-buffers.ts';
import { readSendQueues } from '../../../src/server/bytes/send-queues.ts';
import { TurnShare } from '../../../src/server/bytes/turn-share.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { until } from '../../support/until.ts';

const MIB = 1024 * 1024;

function makeSender(budget: InFlightBudget): SendBody {
  const buffers = new ReadBuffers(0);
  return createBodySender({ budget, cache: new BlockCache(0, buffers), buffers, clock: systemClock });
}

describe('the sender of a body', () => {
  /** Sends bytes that are in memory. */
  async function send(
    send: SendBody,
    bytes: Buffer,
    take: (chunk: Buffer, flushed: () => void) => void,
  ): Promise<void> {
    const response = Object.assign(new EventEmitter(), { write: take, end: take });
    await send({
      response: response as unknown as ByteResponse,
      plan: { status: 200, headers: [], parts: [{ start: 0, end: bytes.length, head: '' }], tail: '' },
      reader: {
        entry: { blake3: 'a'.padEnd(64, '0') as Blake3Hex, size: bytes.length } as ManifestEntry,
        read: async ({ start, end }) => await Promise.resolve(bytes.subarray(start, end)),
        release: () => undefined,
      },
      fromVolume: false,
      begin: () => undefined,
      onSent: () => undefined,
    });
  }

  /** Sends bytes to a client that reads everything immediately; returns the writes. */
  async function sendAll(budget: InFlightBudget, bytes: Buffer): Promise<Buffer[]> {
    const written: Buffer[] = [];
    await send(makeSender(budget), bytes, (chunk, flushed) => {
      written.push(chunk);
      setImmediate(flushed);
    });
    expect(Buffer.concat(written).equals(bytes)).toBe(true);
    return written;
  }

  test('a slice for a slow client does not keep its whole block in memory', async () => {
    const written = await sendAll(new InFlightBudget(SLICE_BYTES), Buffer.alloc(1024 * 1024, 7));
    expect(Math.max(...written.map(({ buffer }) => buffer.byteLength))).toBe(SLICE_BYTES);
  });

  test('under load a client begins with a slice, and gets more as it proves fast', async () => {
    const budget = new InFlightBudget(8 * 1024 * 1024);
    const bytes = Buffer.alloc(6 * 1024 * 1024, 7);
    expect((await sendAll(budget, bytes)).map(({ length }) => length)).toEqual(Array(6).fill(1024 * 1024));
    budget.take(4 * 1024 * 1024);
    const sizes = (await sendAll(budget, bytes)).map(({ length }) => length);
    expect(sizes[0]).toBe(SLICE_BYTES);
    expect(Math.max(...sizes)).toBe(1024 * 1024);
  });

  test('many long responses that begin together leave room for other answers in each turn of the event loop', async () => {
    const sender = makeSender(new InFlightBudget(4096 * MIB));
    const bytes = Buffer.alloc(2 * MIB, 7);
    let sent = 0;
    // The system takes all bytes immediately, as it does for readers that have just begun.
    const take = (chunk: Buffer, flushed: () => void): void => {
      sent += chunk.length;
      queueMicrotask(flushed);
    };
    const all = Promise.all(Array.from({ length: 100 }, async () => await send(sender, bytes, take)));
    const perTurn: number[] = [];
    while (sent < 100 * bytes.length) {
      const before = sent;
      await nextTurn();
      perTurn.push(sent - before);
    }
    await all;
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(8 * MIB);
  });
});

const { minimumBytesPerSecond, drainWindowMs: windowMs } = DEFAULT_BYTE_PATH_LIMITS;

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
  const response = {
    socket: socket as Socket,
    get headersSent() {
      return headersSent;
    },
    closed: false,
    once: (_event: string, listener: () => void) => closeListeners.push(listener),
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
  watch.watch(response as unknown as ByteResponse, (stalled) => {
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

describe('the watch on slow clients', () => {
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
});

describe('the send queue of a connection', () => {
  test.skipIf(process.platform !== 'linux').each([
    ['127.0.0.1', '127.0.0.1'],
    ['::', '127.0.0.1'],
    ['::1', '::1'],
  ])('a listener on %s sees what a client at %s has not acknowledged', async (host, address) => {
    const server = createServer();
    server.listen(0, host);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect(port, address);
    client.pause();
    const [socket] = (await once(server, 'connection')) as [Socket];
    onTestFinished(() => {
      client.destroy();
      socket.destroy();
      server.close();
    });
    expect(readSendQueues()(socket)).toBe(0);
    socket.write(Buffer.alloc(32 * 1024 * 1024));
    await until(() => (readSendQueues()(socket) ?? 0) > 100_000);
    client.resume();
    await until(() => readSendQueues()(socket) === 0);
  });
});

describe('the turns of responses', () => {
  /** Sends chunks like a response whose bytes are all in memory and whose client takes everything. */
  async function send(share: TurnShare, name: string, chunks: number, sent: string[]): Promise<void> {
    for (let chunk = 0; chunk < chunks; chunk += 1) {
      const turn = share.take(100);
      if (turn !== null) await turn;
      sent.push(name);
      await Promise.resolve();
    }
  }

  test('responses that could run without a pause leave the rest of each turn to others', async () => {
    const share = new TurnShare(250);
    const sent: string[] = [];
    const all = Promise.all(['a', 'b', 'c', 'd'].map(async (name) => await send(share, name, 5, sent)));
    const perTurn: number[] = [];
    while (sent.length < 20) {
      const before = sent.length;
      await nextTurn();
      perTurn.push(sent.length - before);
    }
    await all;
    // At most 250 bytes of one turn are taken by whole chunks of 100.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(6);
    expect(perTurn.length).toBeGreaterThan(4);
  });

  test('responses that wait are resumed in order', async () => {
    const share = new TurnShare(100);
    const sent: string[] = [];
    await Promise.all(['a', 'b', 'c'].map(async (name) => await send(share, name, 2, sent)));
    expect(sent.join('')).toBe('abcabc');
  });

  test('a response larger than a turn is sent', async () => {
    const share = new TurnShare(10);
    const sent: string[] = [];
    await send(share, 'a', 3, sent);
    expect(sent).toEqual(['a', 'a', 'a']);
  });
});
