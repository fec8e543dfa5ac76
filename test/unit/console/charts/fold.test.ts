import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldGreatest, foldMean, ranges, runsOf } from '../../../../src/console/charts/fold.ts';

const VALUES = fc.array(fc.option(fc.integer({ min: -1000, max: 1000 })), { maxLength: 1500 });

describe('folding a list into columns', () => {
  it('covers every item once, in nearly equal ranges', () => {
    fc.assert(
      fc.property(fc.nat(2000), fc.nat(500), (length, slots) => {
        const found = ranges(length, slots);
        expect(found.length).toBe(Math.min(length, slots));
        expect(
          found.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index)),
        ).toEqual(slots === 0 ? [] : Array.from({ length }, (_, index) => index));
        const sizes = found.map(({ from, to }) => to - from);
        if (sizes.length > 0) expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
      { numRuns: 50 },
    );
  });

  it('never loses the greatest value', () => {
    fc.assert(
      fc.property(VALUES, fc.integer({ min: 1, max: 300 }), (values, slots) => {
        const known = values.filter((value) => value !== null);
        const folded = foldGreatest(values, slots, (value) => value).filter((value) => value !== null);
        expect(Math.max(...folded)).toBe(Math.max(...known));
      }),
    );
  });

  it('shows one bad minute of a day in a narrow chart', () => {
    const minutes = new Array<string | null>(1440).fill('healthy');
    minutes[700] = 'damaged';
    const folded = foldGreatest(minutes, 160, (state) => (state === 'damaged' ? 1 : 0));
    expect(folded.filter((state) => state === 'damaged')).toHaveLength(1);
  });

  it('takes the mean of the known values, and keeps gaps', () => {
    expect(foldMean([1, 3, null, 5, null, null], 3)).toEqual([2, 5, null]);
    expect(foldMean([], 10)).toEqual([]);
    expect(foldMean([7], 10)).toEqual([7]);
  });

  it('joins equal neighbours', () => {
    expect(runsOf(['a', 'a', null, null, 'a'])).toEqual([
      { value: 'a', from: 0, to: 2 },
      { value: null, from: 2, to: 4 },
      { value: 'a', from: 4, to: 5 },
    ]);
    expect(runsOf([])).toEqual([]);
  });
});
