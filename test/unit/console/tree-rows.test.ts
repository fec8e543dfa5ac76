import { describe, expect, it } from 'vitest';
import { flatten, keyTarget } from '../../../src/console/components/tree-rows.ts';
import { leastWidth, tracksOf, withWidth } from '../../../src/console/components/virtual-columns.ts';

const folder = (key: string): Parameters<typeof flatten>[0][number] => ({
  key,
  name: key,
  hasChildren: true,
});
const leaf = (key: string): Parameters<typeof flatten>[0][number] => ({ key, name: key, hasChildren: false });
const CHILDREN: Readonly<Record<string, ReturnType<typeof folder>[] | null>> = {
  audio: [folder('late'), leaf('theme.ogg')],
  late: null,
};
const ROOTS = [folder('audio'), folder('bundles'), leaf('catalog.json')];
const rowsOf = (...open: string[]): ReturnType<typeof flatten> =>
  flatten(ROOTS, new Set(open), ({ key }) => CHILDREN[key] ?? null);

describe('a tree', () => {
  it('shows the children of open nodes, with their place', () => {
    expect(
      rowsOf('audio').map(({ key, level, position, siblings }) => [key, level, position, siblings]),
    ).toEqual([
      ['audio', 1, 1, 3],
      ['late', 2, 1, 2],
      ['theme.ogg', 2, 2, 2],
      ['bundles', 1, 2, 3],
      ['catalog.json', 1, 3, 3],
    ]);
  });

  it('holds a place for children that have not arrived', () => {
    const rows = rowsOf('audio', 'late');
    expect(rows[2]).toMatchObject({ node: null, level: 3 });
    expect(keyTarget(rows, 2, 'ArrowRight', new Set())).toBeNull();
  });

  it('follows the keys of the tree pattern', () => {
    const open = new Set(['audio']);
    const rows = rowsOf('audio');
    const keys = (at: number): unknown[] =>
      ['ArrowRight', 'ArrowLeft', 'Enter', 'c', 'x', ' '].map((key) => keyTarget(rows, at, key, open));
    // An open node, a closed one inside of it, one without children, and the last root.
    expect(keys(0)).toEqual([1, 'toggle', 'toggle', 4, null, null]);
    expect(keys(1)).toEqual(['toggle', 0, 'toggle', 4, null, null]);
    expect(keys(2)).toEqual([null, 0, 'toggle', 4, null, null]);
    expect(keys(4)).toEqual([null, null, 'toggle', 4, null, null]);
    expect(keyTarget(rows, 4, 'a', open)).toBe(0);
    // Before any row was reached, a character finds one.
    expect([keyTarget(rows, -1, 'b', open), keyTarget(rows, -1, 'Enter', open)]).toEqual([3, null]);
  });
});

describe('the columns of a table', () => {
  const columns = [
    { id: 'check', least: 36, grow: 0 },
    { id: 'path', least: 200, grow: 2 },
    { id: 'size', least: 80, grow: 1 },
  ];

  it('have the same tracks in every row, whatever is in them', () => {
    expect(tracksOf(columns, {})).toBe('36px minmax(200px, 2fr) minmax(80px, 1fr)');
    expect(leastWidth(columns, {})).toBe(316);
  });

  it('keep the width that the reader chooses, within bounds', () => {
    const chosen = withWidth(withWidth({}, 'path', 320.4), 'size', 3);
    expect(tracksOf(columns, chosen)).toBe('36px 320px 48px');
    expect(leastWidth(columns, chosen)).toBe(404);
    expect(withWidth({}, 'size', 99_999)).toEqual({ size: 1200 });
  });
});
