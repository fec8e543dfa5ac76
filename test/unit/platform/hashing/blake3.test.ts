import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  blake3Hex,
  loadNativeBlake3,
  loadWebAssemblyBlake3,
} from '../../../../src/platform/hashing/blake3.ts';
import { createCrc64 } from '../../../../src/platform/hashing/crc64.ts';
import { crc64Decimal } from '../../../support/crc64-decimal.ts';

/** The input of the official test vectors: bytes 0 to 250, repeated. */
function vectorInput(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => i % 251));
}

// First 32 bytes of "hash" in test_vectors/test_vectors.json of BLAKE3-team/BLAKE3.
const VECTORS: readonly (readonly [number, string])[] = [
  [0, 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'],
  [1, '2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213'],
  [1024, '42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7'],
  [1025, 'd00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444'],
];

describe('BLAKE3', () => {
  it.each(VECTORS)(
    'gives the official digest of %i bytes, by every implementation',
    async (length, expected) => {
      const input = vectorInput(length);
      expect(blake3Hex(input)).toBe(expected);
      for (const implementation of [await loadNativeBlake3(), await loadWebAssemblyBlake3()]) {
        const hasher = implementation.create();
        hasher.update(input);
        expect(hasher.digest().toString('hex'), implementation.name).toBe(expected);
      }
    },
  );

  it('gives the same by both implementations, however the bytes are split and hashers are mixed', async () => {
    const native = await loadNativeBlake3();
    const wasm = await loadWebAssemblyBlake3();
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.uint8Array({ maxLength: 3000 })), { maxLength: 12 }),
        (steps) => {
          const [left, right] = [wasm.create(), wasm.create()];
          const [expectedLeft, expectedRight] = [native.create(), native.create()];
          for (const [toLeft, bytes] of steps) {
            (toLeft ? left : right).update(bytes);
            (toLeft ? expectedLeft : expectedRight).update(bytes);
          }
          expect(left.digest()).toEqual(expectedLeft.digest());
          expect(right.digest()).toEqual(expectedRight.digest());
        },
      ),
      { numRuns: 50 },
    );
  });

  it('starts again after a reset', async () => {
    for (const implementation of [await loadNativeBlake3(), await loadWebAssemblyBlake3()]) {
      const hasher = implementation.create();
      hasher.update(Buffer.from('something else'));
      hasher.reset();
      hasher.update(vectorInput(1025));
      expect(hasher.digest().toString('hex'), implementation.name).toBe(VECTORS[3]?.[1]);
    }
  });
});

describe('CRC-64/XZ', () => {
  it('gives the check value of the catalogue of CRC algorithms', async () => {
    expect(await crc64Decimal(Buffer.from('123456789'))).toBe('11051210869376104954');
    expect(await crc64Decimal(Buffer.alloc(0))).toBe('0');
  });

  it('does not depend on how the bytes are split, and can be used again', async () => {
    const crc = await createCrc64();
    for (const cut of [1, 4, 8]) {
      crc.reset();
      crc.update(Buffer.from('123456789').subarray(0, cut));
      crc.update(Buffer.from('123456789').subarray(cut));
      expect(crc.digest()).toBe('11051210869376104954');
    }
  });
});
