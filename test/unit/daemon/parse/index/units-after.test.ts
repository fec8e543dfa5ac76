import { describe, expect, it, onTestFinished } from 'vitest';
import type { ParseIndex } from '../../../../../src/daemon/parse/index/parse-index.ts';
import { unitIdText } from '../../../../../src/daemon/parse/index/unit-id-text.ts';
import type { UnitPlace } from '../../../../../src/daemon/parse/index/units-after.ts';
import { allUnits, indexRelease, openTestIndex, type ModelFile } from '../../../../support/index-release.ts';

const texts = (name: string, count: number): (readonly [string, string])[] =>
  Array.from({ length: count }, (_, at) => [`${name}${at}`, `text of ${name}${at}`]);

const FILES: readonly ModelFile[] = [
  { destination: 'a.json', leaves: [] },
  {
    destination: 'b.zip',
    leaves: [
      { archiveEntry: 'x.json', units: texts('x', 3) },
      { archiveEntry: 'y.csv', format: 'csv', units: texts('y', 4) },
    ],
  },
  { destination: 'c.json', leaves: [{ units: texts('c', 5) }] },
];

function open(): ParseIndex {
  const index = openTestIndex();
  onTestFinished(() => {
    index.close();
  });
  return index;
}

function pageThrough(index: ParseIndex, limit: number, maxCharacters: number) {
  const pages = [];
  for (let from: UnitPlace | null = { position: 0, ordinal: 0 }; from !== null;) {
    const page = index.unitsAfter({ from, limit, maxCharacters });
    pages.push(page);
    from = page.next;
  }
  return pages;
}

describe('paging through units by their place', () => {
  it.each([
    [1, 10_000],
    [2, 10_000],
    [5, 10_000],
    [1000, 1],
    [1000, 30],
    [1000, 10_000],
  ])(
    'gives every unit once and in order, with pages of %i units and %i characters',
    (limit, maxCharacters) => {
      const index = open();
      indexRelease(index, 'r1', FILES);
      const pages = pageThrough(index, limit, maxCharacters);
      const found = pages.flatMap(({ items }) => items);
      expect(
        found.map((unit) => [
          unitIdText(unit.unitId),
          unit.destination,
          unit.archiveEntry,
          unit.format,
          unit.sourceText,
        ]),
      ).toEqual(
        allUnits(index).map((unit) => [
          unit.unit_id,
          unit.destination,
          unit.archive_entry,
          unit.format,
          unit.source_text,
        ]),
      );
      for (const { items } of pages) expect(items.length).toBeLessThanOrEqual(limit);
    },
  );

  it('names the release and how each unit was carried over', () => {
    const index = open();
    const first = index.unitsAfter({ from: { position: 0, ordinal: 0 }, limit: 10, maxCharacters: 100 });
    expect(first).toMatchObject({ releaseId: null, items: [], next: null });
    indexRelease(index, 'r1', FILES);
    const [, zip, json] = FILES;
    const changed = {
      ...json!,
      leaves: [{ units: [...texts('c', 4), ['c4', 'another text'] as const, ['new', 'new'] as const] }],
    };
    indexRelease(index, 'r2', [zip!, changed]);
    const [page] = pageThrough(index, 100, 10_000);
    expect(page).toMatchObject({ releaseId: 'r2', previousReleaseId: 'r1', total: 13 });
    expect(page?.items.map(({ carriedBy }) => carriedBy?.tier ?? 'new')).toEqual([
      ...Array.from({ length: 11 }, () => 'same'),
      'changed',
      'new',
    ]);
    for (const { unitId, carriedBy } of page?.items.slice(0, 11) ?? [])
      expect(carriedBy?.unitId).toEqual(unitId);
  });
});
