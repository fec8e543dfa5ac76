import { describe, expect, it } from 'vitest';
import { TextUnitsReport } from '../../../../src/contract/reports/report-parse.ts';
import { UNIT_TRANSLATION_EXAMPLE } from '../../../../scripts/reference/example-reports.ts';
import type { ParseIndex } from '../../../../src/localization/parse/index/parse-index.ts';
import type { UnitQuery } from '../../../../src/localization/parse/index/read/unit-filter.ts';
import { unitIdText } from '../../../../src/localization/unit-id-text.ts';
import type {
  ReadTranslations,
  TranslationsRequest,
} from '../../../../src/localization/parse/index/read/unit-translations.ts';
import { FIRST_UNIT, type UnitPlace } from '../../../../src/localization/parse/index/read/units-after.ts';
import { addTranslations } from '../../../../src/localization/parse/parse-reports.ts';
import { allUnits, indexRelease, openTestIndex, type ModelFile } from '../../../support/index-release.ts';
import { openIndexInTest } from '../../../support/open-index.ts';

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

function pageThrough(index: ParseIndex, limit: number, maxCharacters: number) {
  const pages = [];
  for (let from: UnitPlace | null = FIRST_UNIT; from !== null;) {
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
      const index = openIndexInTest();
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
    const index = openIndexInTest();
    const first = index.unitsAfter({ from: FIRST_UNIT, limit: 10, maxCharacters: 100 });
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

const FOUND = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans', isBuilt: true, history: null };
const SIGNAL = new AbortController().signal;

const noBoxes = () => Promise.resolve(() => null);

/** A page of a release with the units `a` to `e`, and what was asked for it. */
async function page(query: Partial<UnitQuery>, answer?: Awaited<ReturnType<ReadTranslations>>) {
  const index = openTestIndex();
  const units = ['a', 'b', 'c', 'd', 'e'].map((key) => [key, `text ${key}`] as const);
  indexRelease(index, 'r1', [
    { destination: 'x.json', leaves: [{ units }] },
    { destination: 'y.json', leaves: [{ units: [['a', 'text']] }] },
  ]);
  const asked: TranslationsRequest[] = [];
  const read: ReadTranslations = (request) => {
    asked.push(request);
    const items = request.units.map((_, at) => ({ ...UNIT_TRANSLATION_EXAMPLE, revision: at }));
    return Promise.resolve(answer ?? { ...FOUND, items });
  };
  const full = { offset: 0, limit: 1000, ...query };
  const body = await addTranslations(index.textUnits(full), full, { read, readBoxes: noBoxes }, SIGNAL);
  index.close();
  expect(TextUnitsReport.body.strict().parse(body)).toEqual(body);
  return { body, asked: asked[0] };
}

describe('a page of units with translations', () => {
  it('has the translation of each unit, and asks once', async () => {
    const { body, asked } = await page({});
    expect(body.items.map(({ translation }) => translation?.revision)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(body).toMatchObject({
      next_offset: null,
      history: null,
      translations: {
        available: true,
        reason: null,
        source_language: 'ja',
        target_language: 'zh-Hans',
        tasks_built: true,
      },
    });
    expect(asked).toMatchObject({ releaseId: 'r1', generation: body.generation, withHistory: false });
    expect(asked?.units).toEqual(
      body.items.map(({ unit_id, source_digest }) => ({ unitId: unit_id, sourceDigest: source_digest })),
    );
  });

  it('ends where the translations end, and says where the next one begins', async () => {
    const items = [UNIT_TRANSLATION_EXAMPLE, UNIT_TRANSLATION_EXAMPLE];
    const { body } = await page({ offset: 1 }, { ...FOUND, items });
    expect(body.items.map(({ field_path: path }) => path)).toEqual(['/b', '/c']);
    expect(body).toMatchObject({ total: 6, next_offset: 3 });
  });

  it('has the sources and the reason when translations are not available', async () => {
    const { body } = await page({}, { unavailable: 'translation.db cannot be used: it is damaged' });
    expect(body).toMatchObject({
      total: 6,
      history: null,
      translations: { available: false, reason: 'translation.db cannot be used: it is damaged' },
    });
    expect(body.items.map(({ source_text: text, translation }) => [text, translation])[0]).toEqual([
      'text a',
      null,
    ]);
  });

  it.each<[Partial<UnitQuery>, boolean]>([
    [{ destination: 'x.json', field_path: '/a' }, true],
    [{ destination: 'x.json', field_path: '/a', offset: 1 }, false],
    [{ field_path: '/a' }, false],
    [{ field_path: '/b' }, false],
    [{ destination: 'x.json' }, false],
    [{ destination: 'y.json' }, false],
    [{ destination: 'x.json', field_path: '/none' }, false],
  ])('asks for the history when %j selects exactly one unit: %s', async (query, expected) => {
    expect((await page(query)).asked?.withHistory).toBe(expected);
  });
});
