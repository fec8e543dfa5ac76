import { expect, test } from 'vitest';
import { ReadBuffers } from '../../../../src/server/bytes/read-buffers.ts';

const KIB = 1024;

test('returned memory serves the next read of about that length', () => {
  const buffers = new ReadBuffers(KIB * KIB);
  const first = buffers.take(200 * KIB);
  expect(first).toHaveLength(200 * KIB);
  buffers.giveBack(first);
  expect(buffers.spareBytes).toBe(256 * KIB);
  const second = buffers.take(256 * KIB);
  expect(second.buffer).toBe(first.buffer);
  expect(second).toHaveLength(256 * KIB);
  expect(buffers.spareBytes).toBe(0);
});

test('memory is never shared by two reads', () => {
  const buffers = new ReadBuffers(KIB * KIB);
  const first = buffers.take(64 * KIB);
  buffers.giveBack(first);
  buffers.giveBack(first);
  expect(buffers.spareBytes).toBe(64 * KIB);
  expect(buffers.take(64 * KIB).buffer).not.toBe(buffers.take(64 * KIB).buffer);
});

test('bytes from elsewhere are left to their owners', () => {
  const buffers = new ReadBuffers(KIB * KIB);
  buffers.giveBack(Buffer.alloc(64 * KIB));
  buffers.giveBack(Buffer.from('from the pool of Node'));
  expect(buffers.spareBytes).toBe(0);
});

test('shared memory is returned with its last view, however often one view is returned', () => {
  const buffers = new ReadBuffers(KIB * KIB);
  const whole = buffers.take(KIB * KIB);
  whole.fill(7);
  const part = buffers.share(whole, 10, 20);
  const other = buffers.share(part, 1);
  expect(part).toEqual(Buffer.alloc(10, 7));
  expect(other).toEqual(Buffer.alloc(9, 7));
  for (const view of [whole, other, whole, other]) buffers.giveBack(view);
  expect(buffers.spareBytes).toBe(0);
  buffers.giveBack(part);
  expect(buffers.spareBytes).toBe(KIB * KIB);
  expect(buffers.take(KIB * KIB).buffer).toBe(whole.buffer);
});

test('memory for kept bytes is no longer than they are', () => {
  const buffers = new ReadBuffers(KIB * KIB);
  const [fitting, odd] = [buffers.takeExactly(64 * KIB), buffers.takeExactly(65 * KIB)];
  expect([fitting, odd].map(({ buffer }) => buffer.byteLength)).toEqual([64 * KIB, 65 * KIB]);
  for (const each of [fitting, odd]) buffers.giveBack(each);
  expect(buffers.spareBytes).toBe(64 * KIB);
});

test('memory that others allocated is accepted when it fits', () => {
  const buffers = new ReadBuffers(KIB * KIB);
  const [fitting, odd] = [Buffer.allocUnsafeSlow(64 * KIB), Buffer.allocUnsafeSlow(65 * KIB)];
  const part = Buffer.allocUnsafeSlow(128 * KIB).subarray(0, 64 * KIB);
  for (const each of [fitting, odd, part]) {
    buffers.adopt(each);
    buffers.giveBack(each);
  }
  expect(buffers.spareBytes).toBe(64 * KIB);
});

test('no more than allowed is kept, and only useful sizes', () => {
  const buffers = new ReadBuffers(100 * KIB);
  const taken = [64 * KIB, 64 * KIB, KIB * KIB, KIB * KIB + 1, KIB].map((length) => buffers.take(length));
  for (const each of taken) buffers.giveBack(each);
  expect(buffers.spareBytes).toBe(64 * KIB);
});
