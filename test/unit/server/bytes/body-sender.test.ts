import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Blake3Hex } from '../../../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../../../src/domain/release/manifest.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { BlockCache } from '../../../../src/server/bytes/block-cache.ts';
import { createBodySender, type BodySender } from '../../../../src/server/bytes/body-sender.ts';
import { InFlightBudget, SLICE_BYTES } from '../../../../src/server/bytes/in-flight-budget.ts';
import type { ByteResponse } from '../../../../src/server/bytes/outflow.ts';
import { ReadBuffers } from '../../../../src/server/bytes/read-buffers.ts';

const MIB = 1024 * 1024;

function makeSender(budget: InFlightBudget): BodySender {
  const buffers = new ReadBuffers(0);
  return createBodySender({ budget, cache: new BlockCache(0, buffers), buffers, clock: systemClock });
}

/** Sends bytes that are in memory. */
async function send(
  sender: BodySender,
  bytes: Buffer,
  take: (chunk: Buffer, flushed: () => void) => void,
): Promise<void> {
  const response = Object.assign(new EventEmitter(), { write: take, end: take });
  await sender.send({
    response: response as unknown as ByteResponse,
    plan: { status: 200, headers: [], parts: [{ start: 0, end: bytes.length, head: '' }], tail: '' },
    reader: {
      entry: { blake3: 'a'.padEnd(64, '0') as Blake3Hex, size: bytes.length } as ManifestEntry,
      read: async ({ start, end }) => await Promise.resolve(bytes.subarray(start, end)),
      release: () => undefined,
    },
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
