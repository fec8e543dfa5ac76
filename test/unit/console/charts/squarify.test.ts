import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { squarify, type Tile } from '../../../../src/console/charts/squarify.ts';
import { shadeOf, tileLines, treemapItems } from '../../../../src/console/charts/treemap.tsx';

const ROOM = { width: 600, height: 240 };

function overlap(one: Tile, other: Tile): number {
  const wide = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
  const high = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
  return Math.max(0, wide) * Math.max(0, high);
}

describe('a tree map', () => {
  it('fills its room with tiles of the right area that do not overlap', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 40 }),
        (unordered) => {
          const weights = unordered.toSorted((left, right) => right - left);
          const tiles = squarify(weights, ROOM);
          const total = weights.reduce((sum, weight) => sum + weight, 0);
          for (const [index, { x, y, width, height }] of tiles.entries()) {
            const area = ((weights[index] ?? 0) / total) * ROOM.width * ROOM.height;
            expect(width * height).toBeCloseTo(area, 3);
            expect(Math.min(x, y)).toBeGreaterThanOrEqual(-0.001);
            expect(x + width).toBeLessThanOrEqual(ROOM.width + 0.001);
            expect(y + height).toBeLessThanOrEqual(ROOM.height + 0.001);
            for (const other of tiles.slice(0, index))
              expect(overlap(other, tiles[index] as Tile)).toBeLessThan(0.01);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it('makes tiles nearly square, as the example of the paper', () => {
    const tiles = squarify([6, 6, 4, 3, 2, 2, 1], { width: 600, height: 400 });
    const worst = Math.max(...tiles.map(({ width, height }) => Math.max(width / height, height / width)));
    expect(worst).toBeLessThan(3.1);
    expect(tiles[0]).toEqual({ x: 0, y: 0, width: 300, height: 200 });
  });

  it('draws nothing for no weight and no room', () => {
    expect(squarify([], ROOM)).toEqual([]);
    expect(squarify([0, 0], ROOM)).toHaveLength(2);
    for (const { width, height } of squarify([3, 1], { width: 0, height: 240 }))
      expect(width * height).toBe(0);
  });

  it('sums up the smallest items in one tile', () => {
    const items = [4, 1, 3, 2, 0].map((weight) => ({
      key: `k${weight}`,
      text: `t${weight}`,
      weight,
      share: weight === 1 ? 1 : 0,
      href: '#/x',
    }));
    expect(treemapItems(items, 3)).toEqual([
      items[0],
      items[2],
      { key: '', text: '2 smaller ones', weight: 3, share: 1 / 3, href: null },
    ]);
    expect(treemapItems(items).map(({ weight }) => weight)).toEqual([4, 3, 2, 1]);
  });

  it('writes the name and the figure into a tile as far as there is room', () => {
    const linesIn = (width: number, height: number): readonly string[] =>
      tileLines({ width, height }, 'Scenario/Main', '12 %');
    expect(linesIn(200, 60)).toEqual(['Scenario/Main', '12 %']);
    expect(linesIn(60, 60)).toEqual(['Main', '12 %']);
    expect(linesIn(60, 30)).toEqual(['Main']);
    expect(linesIn(20, 60)).toEqual([]);
    expect(linesIn(60, 10)).toEqual([]);
    expect(tileLines({ width: 60, height: 60 }, 'Scenario/Chapter02.json', '12 %')).toEqual(['12 %']);
  });

  it('tells nothing, a little, a fifth and almost everything by different shades, and only everything by the last', () => {
    expect([0, 0.001, 0.09, 0.2, 0.25, 0.5, 0.999, 1].map(shadeOf)).toEqual([0, 1, 1, 3, 3, 6, 10, 11]);
  });
});
