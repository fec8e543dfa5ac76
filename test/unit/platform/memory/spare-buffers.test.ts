import { expect, test } from 'vitest';
import { SpareBuffers } from '../../../../src/platform/memory/spare-buffers.ts';

const KIB = 1024;

test('a buffer is as long as requested and not much longer', () => {
  const buffers = new SpareBuffers(KIB * KIB);
  const lengths = [0, 1, 64 * KIB, 64 * KIB + 1, 500_000, KIB * KIB];
  expect(lengths.map((length) => buffers.take(length).byteLength / KIB)).toEqual([
    64, 64, 64, 128, 512, 1024,
  ]);
});

test('buffers are reused, and never handed out twice', () => {
  const buffers = new SpareBuffers(KIB * KIB);
  const first = buffers.take(KIB * KIB);
  expect(buffers.take(KIB * KIB)).not.toBe(first);
  buffers.put(first);
  expect(buffers.bytes).toBe(KIB * KIB);
  expect(buffers.take(600 * KIB)).toBe(first);
  expect(buffers.bytes).toBe(0);
});

test('no more than allowed is kept, and nothing of another size', () => {
  const buffers = new SpareBuffers(200 * KIB);
  for (const size of [64, 128, 64, 100, 0, 32]) buffers.put(new ArrayBuffer(size * KIB));
  expect(buffers.bytes).toBe(192 * KIB);
});

test('a size in demand takes the place of one that is not', () => {
  const buffers = new SpareBuffers(4 * KIB * KIB);
  // As after a pass over a release.
  for (let at = 0; at < 4; at += 1) buffers.put(new ArrayBuffer(KIB * KIB));
  const taken = [buffers.take(64 * KIB), buffers.take(64 * KIB)];
  for (const each of taken) buffers.put(each);
  expect(buffers.bytes).toBe(3 * KIB * KIB + 2 * 64 * KIB);
  expect(taken).toContain(buffers.take(64 * KIB));
  expect(taken).toContain(buffers.take(64 * KIB));
  // And not in the opposite direction.
  for (const each of taken) buffers.put(each);
  for (let at = 0; at < 4; at += 1) buffers.put(new ArrayBuffer(KIB * KIB));
  expect(buffers.bytes).toBe(3 * KIB * KIB + 2 * 64 * KIB);
  buffers.put(new ArrayBuffer(2 * 4 * KIB * KIB));
  expect(buffers.bytes).toBe(3 * KIB * KIB + 2 * 64 * KIB);
});
