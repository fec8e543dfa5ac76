import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ParseIndex } from '../../../../../src/daemon/parse/index/parse-index.ts';
import { unitIdText } from '../../../../../src/daemon/parse/index/unit-id-text.ts';
import {
  allUnits,
  indexRelease,
  openTestIndex,
  ordered,
  sha256,
  unitIdOf,
  type ModelFile,
} from '../../../../support/index-release.ts';

function open(): ParseIndex {
  const index = openTestIndex();
  onTestFinished(() => {
    index.close();
  });
  return index;
}

/** A unit of a release, for the oracle. */
interface Unit {
  readonly file: string;
  readonly key: string;
  readonly text: string;
  /** The texts before and after it in its leaf. */
  readonly around: readonly [string | null, string | null];
}

function unitsIn(files: readonly ModelFile[]): Unit[] {
  return ordered(files).flatMap(({ destination, leaves }) =>
    leaves.flatMap(({ units }) =>
      units.map(([key, text], index) => ({
        file: destination,
        key,
        text,
        around: [units[index - 1]?.[1] ?? null, units[index + 1]?.[1] ?? null] as const,
      })),
    ),
  );
}

/** For each unit its tier and the id of the old unit; after the rules, tier by tier. */
function oracle(
  before: readonly ModelFile[],
  after: readonly ModelFile[],
): (readonly [string, string] | null)[] {
  const [olds, news] = [unitsIn(before), unitsIn(after)];
  const taken = new Set<Unit>();
  const result = new Map<Unit, readonly [string, string]>();
  const once = (units: readonly Unit[], { file, text }: Unit): boolean =>
    units.filter((unit) => unit.file === file && unit.text === text).length === 1;
  const hasContext = (old: Unit, now: Unit): boolean =>
    old.text === now.text &&
    now.around.some((text) => text !== null) &&
    old.around.every((text, side) => text === now.around[side]);
  const tiers: readonly (readonly [string, (old: Unit, now: Unit) => boolean])[] = [
    ['same', (old, now) => old.file === now.file && old.key === now.key && old.text === now.text],
    ['moved', (old, now) => old.file === now.file && hasContext(old, now)],
    ['moved', hasContext],
    [
      'unique',
      (old, now) => old.file === now.file && old.text === now.text && once(olds, old) && once(news, now),
    ],
    ['changed', (old, now) => old.file === now.file && old.key === now.key],
  ];
  for (const [tier, fits] of tiers) {
    for (const now of news) {
      if (result.has(now)) continue;
      const old = olds.find((each) => !taken.has(each) && fits(each, now));
      if (old === undefined) continue;
      taken.add(old);
      result.set(now, [tier, unitIdText(unitIdOf(old.file, old.key))]);
    }
  }
  return news.map((unit) => result.get(unit) ?? null);
}

const file = (destination: string, ...units: (readonly [string, string])[]): ModelFile => ({
  destination,
  leaves: [{ units }],
});

const text = fc.constantFrom(...'pqrstuv'.split(''));
/** Keys are unique within a file; leaves differ by their archive entry. */
const leaves = fc.array(fc.array(text, { maxLength: 5 }), { maxLength: 3 }).chain((texts) =>
  fc.shuffledSubarray('abcdefghijklmnop'.split(''), { minLength: 16 }).map((keys) =>
    texts.map((each, leaf) => ({
      archiveEntry: `entry ${leaf}`,
      units: each.map((value, index) => [keys[leaf * 5 + index]!, value] as const),
    })),
  ),
);
const release = fc
  .dictionary(fc.constantFrom('f1', 'f2', 'f3', 'f4'), leaves, { maxKeys: 4 })
  .map((files) =>
    Object.entries(files).map(([destination, each]): ModelFile => ({ destination, leaves: each })),
  );
/** The next release: some files are as they were. */
const releases = release.chain((before) =>
  fc.tuple(fc.constant(before), release, fc.subarray(before)).map(([old, changed, kept]) => {
    const names = new Set(kept.map(({ destination }) => destination));
    return [old, [...kept, ...changed.filter(({ destination }) => !names.has(destination))]] as const;
  }),
);

describe('carry-over between releases', () => {
  it('agrees with the rules after random edits', () => {
    fc.assert(
      fc.property(releases, ([before, after]) => {
        const index = openTestIndex();
        try {
          indexRelease(index, 'r1', before);
          indexRelease(index, 'r2', after);
          const expected = oracle(before, after);
          const units = allUnits(index);
          expect(units.map(({ carried_by: by }) => (by === null ? null : [by.tier, by.unit_id]))).toEqual(
            expected,
          );
          const count = (tier: string): number => expected.filter((pair) => pair?.[0] === tier).length;
          const counts = {
            same: count('same'),
            moved: count('moved'),
            unique: count('unique'),
            changed: count('changed'),
            new: expected.filter((pair) => pair === null).length,
            removed: unitsIn(before).length - expected.filter((pair) => pair !== null).length,
          };
          expect(index.status().carry_over).toEqual({ previous_release_id: 'r1', ...counts });
          const page = { fromRelease: 'r1', toRelease: 'r2' };
          const all = index.differences({ ...page, offset: 0, limit: 1000 });
          expect(all?.total).toBe(units.length + counts.removed - counts.same);
          expect(all?.items).toHaveLength(all?.total ?? -1);
          for (let offset = 0; offset < (all?.total ?? 0); offset += 1) {
            expect(index.differences({ ...page, offset, limit: 2 })?.items).toEqual(
              all?.items.slice(offset, offset + 2),
            );
          }
        } finally {
          index.close();
        }
      }),
      { numRuns: 150 },
    );
  });

  it('shows what differs, the removed units last', () => {
    const index = open();
    indexRelease(index, 'r1', [
      file('a', ['1', 'one'], ['2', 'two'], ['3', 'three'], ['4', 'four']),
      file('b', ['1', 'bye'], ['2', 'now']),
    ]);
    indexRelease(index, 'r2', [
      file('a', ['1', 'one'], ['2', 'TWO'], ['5', 'four'], ['6', 'six']),
      file('c', ['1', 'bye'], ['2', 'now']),
    ]);
    const found = index.differences({ fromRelease: 'r1', toRelease: 'r2', offset: 0, limit: 100 });
    expect(
      found?.items.map(({ change, unit, previous }) => [
        change,
        unit === null ? null : `${unit.destination} ${unit.field_path} ${unit.source_text}`,
        previous === null ? null : `${previous.destination} ${previous.field_path} ${previous.source_text}`,
      ]),
    ).toEqual([
      ['changed', 'a /2 TWO', 'a /2 two'],
      ['unique', 'a /5 four', 'a /4 four'],
      ['new', 'a /6 six', null],
      ['moved', 'c /1 bye', 'b /1 bye'],
      ['moved', 'c /2 now', 'b /2 now'],
      ['removed', null, 'a /3 three'],
    ]);
    expect(found?.total).toBe(6);
  });

  it('prefers the unit that moved to another file to the one with the same id', () => {
    const index = open();
    indexRelease(index, 'r1', [
      file('a', ['1', 'p'], ['2', 'x'], ['3', 'q']),
      file('b', ['1', 'r'], ['2', 's']),
    ]);
    indexRelease(index, 'r2', [
      file('a', ['1', 'r'], ['2', 's']),
      file('b', ['1', 'p'], ['2', 'x'], ['3', 'q']),
    ]);
    expect(allUnits(index).map(({ carried_by: by }) => [by?.tier, by?.unit_id])).toEqual(
      [
        ['b', '1'],
        ['b', '2'],
        ['a', '1'],
        ['a', '2'],
        ['a', '3'],
      ].map(([name = '', key = '']) => ['moved', unitIdText(unitIdOf(name, key))]),
    );
    expect(index.status().carry_over).toMatchObject({ moved: 5, changed: 0, new: 0, removed: 0 });
  });

  it('does not compare releases that do not follow each other', () => {
    const index = open();
    for (const [release, value] of [
      ['r1', 'x'],
      ['r2', 'y'],
      ['r3', 'z'],
    ] as const) {
      indexRelease(index, release, [file('a', ['1', value])]);
    }
    const total = (fromRelease: string, toRelease: string): number | undefined =>
      index.differences({ fromRelease, toRelease, offset: 0, limit: 1 })?.total;
    expect(total('r1', 'r2')).toBe(1);
    expect(total('r2', 'r3')).toBe(1);
    expect(total('r1', 'r3')).toBeUndefined();
    expect(total('r3', 'r2')).toBeUndefined();
    expect(total('r0', 'r1')).toBeUndefined();
  });

  it('keeps the way of a unit when the previous release was deleted, also with other rules', () => {
    const index = open();
    const now = [file('a', ['1', 'p'], ['9', 'x'], ['3', 'q'])];
    indexRelease(index, 'r1', [file('a', ['1', 'p'], ['2', 'x'], ['3', 'q'])]);
    indexRelease(index, 'r2', now);
    const before = allUnits(index);
    index.drop(['r2']);
    while (index.step());
    expect(allUnits(index)).toEqual(before);
    const { carry_over: counts } = index.status();
    for (const rules of ['other rules', 'and others']) {
      expect(indexRelease(index, 'r2', now, sha256(rules))).toMatchObject({ parsed: 1 });
      index.drop(['r2']);
      while (index.step());
      expect(allUnits(index)).toEqual(before);
      expect(index.status().carry_over).toEqual(counts);
    }
    expect(before.map(({ carried_by: by }) => by?.tier)).toEqual(['same', 'moved', 'same']);
  });

  it('pairs more units than one step compares', () => {
    const index = open();
    const units = Array.from({ length: 3500 }, (_, i) => [String(i), `text ${i % 1700}`] as const);
    indexRelease(index, 'r1', [file('a', ...units)]);
    indexRelease(index, 'r2', [file('b', ...units), file('c', ['0', 'other'])]);
    expect(index.status().carry_over).toMatchObject({ moved: 3500, new: 1, removed: 0 });
    const carried = allUnits(index).slice(0, 3500);
    expect(carried.map(({ carried_by: by }) => by?.unit_id)).toEqual(
      units.map(([key]) => unitIdText(unitIdOf('a', key))),
    );
  });
});
