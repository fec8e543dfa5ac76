import { describe, expect, it } from 'vitest';
import { FILE_CHANGED } from '../../../../src/platform/hashing/digests.ts';
import { objectDamageOf, objectFaultOf } from '../../../../src/snapshot/objects/object-fault.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';

function failureOf(code: string): Error {
  return Object.assign(new Error('the read failed'), { code });
}

describe('the damage that a failure shows', () => {
  it.each([
    ['ENOENT', 'missing'],
    ['ELOOP', 'unreadable'],
    ['EISDIR', 'unreadable'],
    ['EIO', 'unreadable'],
    [FILE_CHANGED, 'size_mismatch'],
  ])('is for %s: %s, also of a file that could not be opened', (code, damage) => {
    const blake3 = blake3Hex(Buffer.from('a'));
    expect(objectDamageOf(failureOf(code))).toBe(damage);
    expect(objectDamageOf(objectFaultOf(failureOf(code), blake3, 'object'))).toBe(damage);
  });

  it.each(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'ERR_WORKER_OUT_OF_MEMORY'])(
    'is none for %s, which says nothing of the object',
    (code) => {
      expect(objectDamageOf(failureOf(code))).toBeNull();
    },
  );

  it('is none for an error without a code, such as that of a closed hash pool', () => {
    expect(objectDamageOf(new Error('the pool is closed'))).toBeNull();
  });
});
