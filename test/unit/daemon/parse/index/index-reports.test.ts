import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ParseErrorsReport,
  ParseStatusReport,
  TextUnitsReport,
} from '../../../../../src/contract/reports/report-parse.ts';
import { createDestinationGlob } from '../../../../../src/daemon/parse/index/destination-glob.ts';
import type { FoundError } from '../../../../../src/daemon/parse/index/index-rows.ts';
import type { ParseIndex } from '../../../../../src/daemon/parse/index/parse-index.ts';
import { unitIdText } from '../../../../../src/daemon/parse/index/unit-id-text.ts';
import type { UnitQuery } from '../../../../../src/daemon/parse/index/unit-filter.ts';
import {
  allUnits,
  indexRelease,
  openTestIndex,
  ordered,
  sha256,
  unitIdOf,
  unitsOf,
  type ModelFile,
  type ModelLeaf,
} from '../../../../support/index-release.ts';

const BEYOND_DOUBLE = -9_180_874_206_900_030_759n;
const NEXT_TO_IT = -9_180_874_206_900_030_760n;

const leaf = (count: number, location: Omit<ModelLeaf, 'units'>, name: string): ModelLeaf => ({
  ...location,
  units: Array.from(
    { length: count },
    (_, index) => [`${name}${index}`, `text {p} of ${name}${index}`] as const,
  ),
});

const error = (code: string, location: Partial<FoundError> = {}): FoundError => ({
  archiveEntry: null,
  pathId: null,
  classId: null,
  fieldPath: null,
  format: 'json',
  code,
  message: `found ${code}`,
  severity: 'error',
  ...location,
});

/** Files with and without text, several leaves, empty files at both ends and between. */
const FILES: readonly ModelFile[] = [
  { destination: 'a/empty.json', leaves: [] },
  {
    destination: 'a/one.zip',
    leaves: [
      leaf(3, { archiveEntry: 'x.json' }, 'f'),
      leaf(1, { archiveEntry: 'y.csv', format: 'csv' }, 'f'),
      leaf(2, { archiveEntry: 'y.csv', format: 'csv', pathId: 5n }, 'g'),
    ],
    errors: [
      error('zip_encrypted', { archiveEntry: 'z' }),
      error('csv_invalid', { archiveEntry: 'y.csv', format: 'csv' }),
    ],
  },
  { destination: 'a/two.bundle', leaves: [] },
  {
    destination: 'b/deep/three.bundle',
    leaves: [
      leaf(2, { pathId: NEXT_TO_IT, classId: 49, format: 'unity.textasset' }, 'f'),
      leaf(4, { pathId: BEYOND_DOUBLE, classId: 114, format: 'unity.monobehaviour' }, 'f'),
      leaf(1, { pathId: 5n, classId: 114, format: 'unity.monobehaviour' }, 'g'),
    ],
    errors: [
      error('typetree_missing', { pathId: BEYOND_DOUBLE, classId: 114, format: 'unity.monobehaviour' }),
    ],
  },
  { destination: 'b/four.json', leaves: [leaf(5, {}, 'f')] },
  { destination: 'z/empty.json', leaves: [] },
];

function open(): ParseIndex {
  const index = openTestIndex();
  onTestFinished(() => {
    index.close();
  });
  return index;
}

type Location = Omit<UnitQuery, 'offset' | 'limit'>;

/** Every combination of these filters, each also left out. */
function filters(): Location[] {
  const choices: readonly (readonly Location[])[] = [
    [{}, { destination: 'a/one.zip' }, { destination: 'b/four.json' }, { destination: 'none' }],
    [{}, { path_pattern: '**/*.bundle' }, { path_pattern: 'a/*' }],
    [{}, { archive_entry: 'y.csv' }],
    [{}, { path_id: 5n }, { path_id: BEYOND_DOUBLE }],
    [{}, { class_id: 114 }],
    [{}, { format: 'csv' }, { format: 'unity.monobehaviour' }],
    [{}, { field_path: '/f0' }, { field_path: '/g0' }],
  ];
  return choices.reduce<Location[]>(
    (all, choice) => all.flatMap((each) => choice.map((more) => ({ ...each, ...more }))),
    [{}],
  );
}

interface Place {
  readonly destination: string;
  readonly archiveEntry: string | null;
  readonly pathId: bigint | null;
  readonly classId: number | null;
  readonly format: string;
  readonly fieldPath: string | null;
}

function selects(query: Location, place: Place): boolean {
  return (
    (query.destination === undefined || query.destination === place.destination) &&
    (query.path_pattern === undefined || createDestinationGlob(query.path_pattern)(place.destination)) &&
    (query.archive_entry === undefined || query.archive_entry === place.archiveEntry) &&
    (query.path_id === undefined || query.path_id === place.pathId) &&
    (query.class_id === undefined || query.class_id === place.classId) &&
    (query.format === undefined || query.format === place.format) &&
    (query.field_path === undefined || query.field_path === place.fieldPath)
  );
}

describe('parse.text_units', () => {
  it('gives every page under every combination of filters', () => {
    const index = open();
    indexRelease(index, 'r1', FILES);
    const all = ordered(FILES).flatMap((file) =>
      unitsOf(file).map((unit) => ({ ...unit, destination: file.destination })),
    );
    expect(all).toHaveLength(18);
    for (const query of filters()) {
      const expected = all
        .filter((unit) => selects(query, unit))
        .map((unit) => [unit.destination, unitIdText(unit.unitId)]);
      for (const limit of [1, 4, 1000]) {
        for (let offset = 0; offset <= expected.length + 1; offset += 1) {
          const { total, items } = index.textUnits({ ...query, offset, limit });
          expect([query, total]).toEqual([query, expected.length]);
          expect(items.map((item) => [item.destination, item.unit_id])).toEqual(
            expected.slice(offset, offset + limit),
          );
        }
      }
    }
  });

  it('gives a unit with its location, its neighbours in the same leaf and its placeholders', () => {
    const index = open();
    const { generation } = indexRelease(index, 'r1', FILES).reported;
    const page = index.textUnits({
      destination: 'b/deep/three.bundle',
      field_path: '/f1',
      offset: 1,
      limit: 1,
    });
    const id = (key: string): string => unitIdText(unitIdOf('b/deep/three.bundle', key));
    expect(page).toEqual({
      release_id: 'r1',
      generation,
      total: 2,
      offset: 1,
      limit: 1,
      items: [
        {
          unit_id: id('f1'),
          release_id: 'r1',
          destination: 'b/deep/three.bundle',
          archive_entry: null,
          path_id: BEYOND_DOUBLE,
          class_id: 114,
          field_path: '/f1',
          key_path: 'f1',
          format: 'unity.monobehaviour',
          source_text: 'text {p} of f1',
          source_digest: sha256('text {p} of f1').toString('hex'),
          ordinal: 3,
          placeholders: ['{p}'],
          translatable: true,
          reason: null,
          speaker: null,
          scene: null,
          previous_unit_id: id('f0'),
          next_unit_id: id('f2'),
          carried_by: null,
        },
      ],
    });
    const neighbours = allUnits(index)
      .filter(({ destination }) => destination === 'a/one.zip')
      .map(({ previous_unit_id: previous, next_unit_id: next }) => [previous !== null, next !== null]);
    expect(neighbours).toEqual([
      [false, true],
      [true, true],
      [true, false],
      [false, false],
      [false, true],
      [true, false],
    ]);
  });

  it('fits its contract, as the other reports do', () => {
    const index = open();
    indexRelease(index, 'r1', FILES);
    const page = { offset: 0, limit: 1000 };
    expect(TextUnitsReport.body.strict().parse(index.textUnits(page))).toBeDefined();
    expect(ParseErrorsReport.body.strict().parse(index.errors(page))).toBeDefined();
    expect(ParseStatusReport.body.strict().parse({ ...index.status(), last_run: null })).toBeDefined();
  });

  it('keeps one leaf over the bounds of batches', () => {
    const index = open();
    indexRelease(index, 'r1', [{ destination: 'a', leaves: [leaf(2500, {}, 'f')] }]);
    const units = allUnits(index);
    expect(units.map(({ ordinal }) => ordinal)).toEqual(
      Array.from({ length: 2500 }, (_, ordinal) => ordinal),
    );
    expect(units.filter(({ previous_unit_id: id }) => id === null)).toHaveLength(1);
    expect(units.filter(({ next_unit_id: id }) => id === null)).toHaveLength(1);
    expect(index.textUnits({ format: 'json', offset: 2499, limit: 10 })).toMatchObject({
      total: 2500,
      items: [{ field_path: '/f2499' }],
    });
  });
});

describe('parse.errors', () => {
  it('gives every page under every combination of filters', () => {
    const index = open();
    indexRelease(index, 'r1', FILES);
    const all = ordered(FILES).flatMap(({ destination, errors = [] }) =>
      errors.map((each) => ({ ...each, destination })),
    );
    for (const query of filters()) {
      const expected = all.filter((each) => selects(query, each)).map(({ code }) => code);
      for (let offset = 0; offset <= expected.length; offset += 1) {
        const { total, items } = index.errors({ ...query, offset, limit: 2 });
        expect([query, total]).toEqual([query, expected.length]);
        expect(items.map(({ code }) => code)).toEqual(expected.slice(offset, offset + 2));
      }
    }
  });

  it('gives an error with its location and the outcome of its file', () => {
    const index = open();
    const { generation } = indexRelease(index, 'r1', FILES).reported;
    expect(index.errors({ class_id: 114, offset: 0, limit: 10 })).toEqual({
      release_id: 'r1',
      generation,
      total: 1,
      offset: 0,
      limit: 10,
      items: [
        {
          release_id: 'r1',
          destination: 'b/deep/three.bundle',
          archive_entry: null,
          path_id: BEYOND_DOUBLE,
          class_id: 114,
          field_path: null,
          format: 'unity.monobehaviour',
          code: 'typetree_missing',
          message: 'found typetree_missing',
          severity: 'error',
          parse_status: 'parsed',
          first_seen: expect.any(Number) as number,
        },
      ],
    });
  });
});
