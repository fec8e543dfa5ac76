import { expect, test } from 'vitest';
import { ReadBuffers } from '../../../../src/server/cdn/read-buffers.ts';

const KIB = 1024;

test('memory that came back serves the next read of about that length', () => {
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

test('memory is never given to two at once', () => {
  const buffers = new ReadBuffers(KIB * KIB);
  const first = buffers.take(64 * KIB);
  buffers.giveBack(first);
  buffers.giveBack(first);
  expect(buffers.spareBytes).toBe(64 * KIB);
  expect(buffers.take(64 * KIB).buffer).not.toBe(buffers.take(64 * KIB).buffer);
});

test('bytes from elsewhere are left to those who share them', () => {
  const buffers = new ReadBuffers(KIB * KIB);
  buffers.giveBack(Buffer.alloc(64 * KIB));
  buffers.giveBack(Buffer.from('from the pool of Node'));
  expect(buffers.spareBytes).toBe(0);
});

test('a part of what was read gives back the whole', () => {
  const buffers = new ReadBuffers(KIB * KIB);
  buffers.giveBack(buffers.take(KIB * KIB).subarray(10, 20));
  expect(buffers.spareBytes).toBe(KIB * KIB);
});

test('no more is kept than allowed, and nothing that is not worth it', () => {
  const buffers = new ReadBuffers(100 * KIB);
  const taken = [64 * KIB, 64 * KIB, KIB * KIB, KIB * KIB + 1, KIB].map((length) => buffers.take(length));
  for (const each of taken) buffers.giveBack(each);
  expect(buffers.spareBytes).toBe(64 * KIB);
});
