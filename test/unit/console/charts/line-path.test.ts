import { describe, expect, it } from 'vitest';
import { areaPath, linePath, placeValues } from '../../../../src/console/charts/line-path.ts';

const BOX = { width: 100, height: 10 };

describe('the line of a chart', () => {
  it('goes from the left to the right edge, zero at the bottom', () => {
    expect(placeValues([0, 5, 10], BOX, 10)).toEqual([
      [
        { x: 0, y: 10 },
        { x: 50, y: 5 },
        { x: 100, y: 0 },
      ],
    ]);
  });

  it('has a gap where nothing is known, and shows a value between two gaps', () => {
    const parts = placeValues([4, 4, null, 4, null], BOX, 4);
    expect(parts).toHaveLength(2);
    expect(linePath(parts)).toBe('M0 0L25 0M74 0h2');
    expect(areaPath(parts, 10)).toBe('M0 10L0 0L25 0L25 10Z');
  });

  it('lies at the bottom when every value is zero, and never leaves its box', () => {
    expect(linePath(placeValues([0, 0], BOX, 0))).toBe('M0 10L100 10');
    expect(placeValues([-5, 50], BOX, 10)).toEqual([
      [
        { x: 0, y: 10 },
        { x: 100, y: 0 },
      ],
    ]);
    expect(linePath(placeValues([3], BOX, 3))).toBe('M49 0h2');
    expect([linePath([]), linePath([[]]), areaPath([], 10)]).toEqual(['', '', '']);
  });
});
