import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distanceFrom } from '../../../../src/domain/memory/edit-distance.ts';
import { codePointsOf } from '../../../../src/domain/memory/normalize-text.ts';

/** The whole table, as in the textbook. */
function slowDistance(left: readonly number[], right: readonly number[]): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [at, point] of left.entries()) {
    const next = [at + 1];
    for (const [index, other] of right.entries()) {
      const replaced = (row[index] ?? 0) + (point === other ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

describe('distanceFrom', () => {
  it('counts code points, not UTF-16 units', () => {
    expect(distanceFrom(codePointsOf('😀a')).to(codePointsOf('😁a'), 5)).toBe(1);
  });

  it('gives null beyond the bound and the distance at it', () => {
    const distance = distanceFrom(codePointsOf('kitten'));
    expect(distance.to(codePointsOf('sitting'), 2)).toBeNull();
    expect(distance.to(codePointsOf('sitting'), 3)).toBe(3);
    expect(distance.to([], 6)).toBe(6);
    expect(distanceFrom([]).to([1, 2], 2)).toBe(2);
  });

  it('property: equals the whole table for any two texts, over one word and over several', () => {
    const text = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 100 });
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 4 }), (pattern, others) => {
        const distance = distanceFrom(pattern);
        for (const other of others) {
          const slow = slowDistance(pattern, other);
          expect(distance.to(other, slow)).toBe(slow);
          expect(distance.to(other, 1000)).toBe(slow);
          if (slow > 0) expect(distance.to(other, slow - 1)).toBeNull();
        }
      }),
    );
  });
});
