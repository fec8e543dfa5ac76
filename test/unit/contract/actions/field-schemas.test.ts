import { describe, expect, it } from 'vitest';
import { wholeNumber } from '../../../../src/contract/actions/field-schemas.ts';

describe('a whole number', () => {
  it.each([
    [1, 1],
    [2n ** 63n - 1n, Number.MAX_SAFE_INTEGER],
    [-(2n ** 63n), Number.MIN_SAFE_INTEGER],
  ])('of %s becomes %s, and is taken again', (value, expected) => {
    const parsed = wholeNumber({}).parse(value);
    expect(parsed).toBe(expected);
    expect(wholeNumber({}).parse(parsed)).toBe(expected);
  });

  it.each([0, -(2n ** 63n)])('of %s is refused below its bound', (value) => {
    expect(wholeNumber({ min: 1 }).safeParse(value).success).toBe(false);
  });
});
