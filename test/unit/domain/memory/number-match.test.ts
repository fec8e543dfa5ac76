import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskNumbers, substituteNumbers } from '../../../../src/domain/memory/number-match.ts';

describe('substituteNumbers', () => {
  it.each([
    ['第2話', '第1話', '第1话', '第2话'],
    ['２個', '１個', '1个', '2个'],
    ['2個', '1個', '１个', '２个'],
    ['1,500円から20円', '300円から10円', '从300日元到10日元', '从1,500日元到20日元'],
    ['{0}が5回', '{0}が3回', '{0}3次', '{0}5次'],
  ])('translates %s by %s', (source, knownSource, knownTarget, expected) => {
    expect(substituteNumbers({ source, knownSource, knownTarget })).toBe(expected);
  });

  it.each([
    ['the numbers of source and target differ', '2個', '1個', '3个'],
    ['the target has fewer numbers', '2個と4個', '1個と3個', '1个'],
    ['one number has two successors', '2個と4個', '1個と1個', '1个和1个'],
    ['the placeholders differ', '{1}が5回', '{0}が3回', '{0}3次'],
    ['there is no number', 'はい', 'はい', '是'],
  ])('gives nothing when %s', (_, source, knownSource, knownTarget) => {
    expect(substituteNumbers({ source, knownSource, knownTarget })).toBeNull();
  });

  it('property: the result has exactly the numbers of the source', () => {
    const numbers = fc.array(fc.nat({ max: 99 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(numbers, numbers, (before, after) => {
        fc.pre(before.length === after.length);
        const knownSource = before.map((each) => `あ${each}`).join('');
        const source = after.map((each) => `あ${each}`).join('');
        const knownTarget = before
          .toReversed()
          .map((each) => `b${each}`)
          .join('');
        const result = substituteNumbers({ source, knownSource, knownTarget });
        if (result === null) return;
        expect(maskNumbers(result).numbers.toSorted()).toEqual(maskNumbers(source).numbers.toSorted());
      }),
    );
  });
});
