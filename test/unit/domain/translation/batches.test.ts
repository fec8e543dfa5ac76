import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { smallerBatches, splitIntoBatches } from '../../../../src/domain/translation/batches.ts';

const units = fc
  .array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 })
  .map((lengths) =>
    lengths.map((length, index) => ({ unitId: `u${index}`, sourceText: 'x'.repeat(length) })),
  );
const sizes = fc.record({
  units: fc.integer({ min: 1, max: 20 }),
  characters: fc.integer({ min: 1, max: 100 }),
});

it('puts each unit in one batch, in order and within the size', () => {
  fc.assert(
    fc.property(units, sizes, (all, size) => {
      const batches = [...splitIntoBatches(all, size)];
      expect(batches.flat()).toEqual(all);
      for (const batch of batches) {
        const characters = batch.reduce((sum, { sourceText }) => sum + sourceText.length, 0);
        expect(batch.length).toBeGreaterThan(0);
        expect(batch.length).toBeLessThanOrEqual(size.units);
        expect(batch.length === 1 || characters <= size.characters).toBe(true);
      }
    }),
  );
});

it('asks again for each unit once, and always for fewer', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 0, max: 99 }), (asked, good) => {
      const left = Array.from({ length: Math.max(1, asked - good) }, (_, index) => index);
      const batches = smallerBatches(asked, left);
      expect(batches.flat()).toEqual(left);
      for (const batch of batches) expect(batch.length === 1 || batch.length < asked).toBe(true);
    }),
  );
});
