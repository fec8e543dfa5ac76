import { describe, expect, test } from 'vitest';
import { releaseChunk } from '../../../../src/daemon/upstream/release-chunk.ts';

describe('releaseChunk', () => {
  test('frees a chunk that has its memory to itself', () => {
    const chunk = Buffer.allocUnsafeSlow(100);
    releaseChunk(chunk);
    expect(chunk.byteLength).toBe(0);
  });

  test('keeps memory that others may use', () => {
    const shared = Buffer.alloc(100, 7);
    const part = Buffer.from(shared.buffer, shared.byteOffset, 99);
    releaseChunk(part);
    expect(part.every((byte) => byte === 7)).toBe(true);
    const across = new Uint8Array(new SharedArrayBuffer(4));
    releaseChunk(across);
    expect(across.byteLength).toBe(4);
    releaseChunk(new Uint8Array(0));
  });
});
