import { describe, expect, it } from 'vitest';
import {
  countFiles,
  partsOf,
  tilesOf,
  type CountedTask,
} from '../../../src/console/translate/queue/folder-coverage.ts';

function task(
  destination: string,
  counts: Record<string, number>,
  change: Partial<CountedTask> = {},
): CountedTask {
  return { task_id: `tt_${destination}`, destination, status: 'pending', unit_counts: counts, ...change };
}

const FILES = countFiles(
  countFiles(new Map(), [
    task('a/b/one.json', { untranslated: 6, proofread: 4 }),
    task('a/b/two.zip', { draft: 5 }),
  ]),
  [
    task('a/b/two.zip', { proofread: 5 }, { task_id: 'tt_second' }),
    task('a/c.csv', { proofread: 3 }),
    task('a/skipped.json', { untranslated: 9 }, { status: 'skipped' }),
  ],
);

describe('the coverage of folders', () => {
  it('sums up their files, without tasks that nobody translates', () => {
    expect(partsOf(FILES.values(), 'a')).toEqual([
      { path: 'a/b', units: 20, proofread: 9, taskId: null },
      { path: 'a/c.csv', units: 3, proofread: 3, taskId: 'tt_a/c.csv' },
    ]);
  });

  it('opens a folder that holds only one folder', () => {
    expect(partsOf(FILES.values(), '')).toEqual(partsOf(FILES.values(), 'a'));
  });

  it('shows the largest folder by its parts while there are few tiles', () => {
    const tiles = (files: readonly string[]): readonly string[] =>
      tilesOf(
        countFiles(
          new Map(),
          files.map((path) => task(path, { draft: 1 })),
        ).values(),
        '',
      ).map(({ path }) => path);
    expect(tiles(['s/a/1', 's/a/2', 's/b/1', 't/1'])).toEqual(['s/a/1', 's/a/2', 's/b/1', 't/1']);
    const many = Array.from({ length: 6 }, (_, at) => `f${at}/1`);
    expect(tiles(many)).toEqual(many.map((path) => path.slice(0, 2)));
  });

  it('counts all tasks of a file, and leads to the first', () => {
    expect(partsOf(FILES.values(), 'a/b').map(({ path, units, taskId }) => [path, units, taskId])).toEqual([
      ['a/b/one.json', 10, 'tt_a/b/one.json'],
      ['a/b/two.zip', 10, 'tt_a/b/two.zip'],
    ]);
  });

  it('is empty where no file is, also beside a folder of a similar name', () => {
    expect(partsOf(FILES.values(), 'a/b/on')).toEqual([]);
    expect(partsOf(new Map<string, never>().values(), '')).toEqual([]);
  });
});
