import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CARRY_TIERS } from '../../../../src/contract/schemas/vocabulary.ts';
import {
  findSingles,
  matchExactly,
  matchLoosely,
  type UnitMatches,
} from '../../../../src/localization/parse/index/carry/match-units.ts';
import type { ContainerColumns } from '../../../../src/localization/parse/index/carry/unit-columns.ts';
import { unitIdBytes, unitIdText } from '../../../../src/localization/unit-id-text.ts';
import {
  allUnits,
  finishSteps,
  indexRelease,
  openTestIndex,
  ordered,
  sha256,
  unitIdOf,
  type ModelFile,
} from '../../../support/index-release.ts';
import { campaignSize } from '../../../support/long.ts';
import { openIndexInTest } from '../../../support/open-index.ts';

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
      { numRuns: campaignSize(60, 3000) },
    );
  });

  it('shows what differs, the removed units last', () => {
    const index = openIndexInTest();
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
    const index = openIndexInTest();
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
    const index = openIndexInTest();
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
    const index = openIndexInTest();
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
    const index = openIndexInTest();
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

/** All tiers, as for a release with this one container. */
function* matchUnits(old: ContainerColumns, now: ContainerColumns): Generator<void, UnitMatches> {
  const matches = yield* matchExactly(old, now);
  const singles = yield* findSingles(old, now, matches);
  yield* matchLoosely(old, now, singles, matches);
  return matches;
}

describe('matching the units of a container', () => {
  interface Unit {
    readonly id: string;
    readonly text: string;
    /** Whether a new leaf begins here. */
    readonly starts: boolean;
  }

  function columnsOf(units: readonly Unit[]): ContainerColumns {
    return {
      count: units.length,
      unitIds: Buffer.concat(units.map(({ id }) => sha256(id).subarray(0, 16))),
      texts: Buffer.concat(units.map(({ text }) => sha256(text).subarray(0, 16))),
      leafStarts: Uint8Array.from(units, ({ starts }, index) => Number(starts || index === 0)),
    };
  }

  function match(old: readonly Unit[], now: readonly Unit[]): (readonly [number, string] | null)[] {
    const { oldUnits, tiers } = finishSteps(matchUnits(columnsOf(old), columnsOf(now)));
    return [...oldUnits].map((ordinal, index) =>
      ordinal === -1 ? null : ([ordinal, CARRY_TIERS[tiers[index] ?? 0] ?? ''] as const),
    );
  }

  /** The rules, word for word: for each tier and each new unit, the first old unit that is left and fits. */
  function oracle(old: readonly Unit[], now: readonly Unit[]): (readonly [number, string] | null)[] {
    const neighbours = (units: readonly Unit[], index: number): (string | null)[] => [
      index === 0 || units[index]!.starts ? null : units[index - 1]!.text,
      index + 1 === units.length || units[index + 1]!.starts ? null : units[index + 1]!.text,
    ];
    const count = (units: readonly Unit[], text: string): number =>
      units.filter((u) => u.text === text).length;
    const result: (readonly [number, string] | null)[] = now.map(() => null);
    const taken = new Set<number>();
    const fits: Record<string, (o: number, n: number) => boolean> = {
      same: (o, n) => old[o]!.id === now[n]!.id && old[o]!.text === now[n]!.text,
      moved: (o, n) => {
        const [before, after] = [neighbours(old, o), neighbours(now, n)];
        const isAlone = after.every((text) => text === null);
        return (
          !isAlone && old[o]!.text === now[n]!.text && before.every((text, side) => text === after[side])
        );
      },
      unique: (o, n) =>
        old[o]!.text === now[n]!.text && count(old, old[o]!.text) === 1 && count(now, now[n]!.text) === 1,
      changed: (o, n) => old[o]!.id === now[n]!.id,
    };
    for (const tier of CARRY_TIERS) {
      for (const n of now.keys()) {
        const found =
          result[n] === null ? [...old.keys()].find((o) => !taken.has(o) && fits[tier]!(o, n)) : undefined;
        if (found === undefined) continue;
        result[n] = [found, tier];
        taken.add(found);
      }
    }
    return result;
  }

  const unit = (id: string, text: string, starts = false): Unit => ({ id, text, starts });

  it('prefers the same id and text to everything else', () => {
    expect(match([unit('a', 'x'), unit('b', 'x')], [unit('b', 'x'), unit('a', 'x')])).toEqual([
      [1, 'same'],
      [0, 'same'],
    ]);
  });

  it('finds a unit whose id changed by its text and neighbours', () => {
    const old = [unit('1', 'p'), unit('2', 'x'), unit('3', 'q'), unit('4', 'x')];
    const now = [unit('0', 'new'), unit('1', 'p'), unit('12', 'x'), unit('3', 'q'), unit('14', 'x')];
    expect(match(old, now)).toEqual([null, [0, 'same'], [1, 'moved'], [2, 'same'], [3, 'moved']]);
  });

  it('takes a unit that is alone in its leaf for unique, never for moved', () => {
    const old = [unit('1', 'x', true), unit('2', 'x', true), unit('3', 'y', true)];
    const now = [unit('8', 'x', true), unit('9', 'y', true)];
    expect(match(old, now)).toEqual([null, [2, 'unique']]);
  });

  it('calls a unit changed only when its old text is found nowhere else', () => {
    expect(match([unit('1', 'x')], [unit('1', 'y')])).toEqual([[0, 'changed']]);
    expect(match([unit('1', 'x'), unit('2', 'y')], [unit('1', 'y'), unit('2', 'z')])).toEqual([
      [1, 'unique'],
      null,
    ]);
  });

  it('matches a container that is taken in parts', () => {
    const count = 70_000;
    const columns = (
      textAt: (index: number) => string,
      idAt: (index: number) => number,
    ): ContainerColumns => ({
      count,
      unitIds: Buffer.concat(Array.from({ length: count }, (_, i) => sha256(`${idAt(i)}`).subarray(0, 16))),
      texts: Buffer.concat(Array.from({ length: count }, (_, i) => sha256(textAt(i)).subarray(0, 16))),
      leafStarts: new Uint8Array(count).fill(1),
    });
    const old = columns(
      (index) => `text ${index}`,
      (index) => index,
    );
    const now = columns(
      (index) => `${index % 100 === 0 ? 'new ' : ''}text ${count - 1 - index}`,
      (index) => count - 1 - index,
    );
    const { oldUnits, tiers, isTaken } = finishSteps(matchUnits(old, now));
    expect(oldUnits.every((ordinal, index) => ordinal === count - 1 - index)).toBe(true);
    expect(tiers.every((tier, index) => CARRY_TIERS[tier] === (index % 100 === 0 ? 'changed' : 'same'))).toBe(
      true,
    );
    expect(isTaken.every((taken) => taken === 1)).toBe(true);
  });

  it('takes bounded memory when no text is as it was', async () => {
    const module = new URL('../../../support/match-changed-units.ts', import.meta.url);
    const worker = new Worker(module, {
      workerData: { units: 300_000 },
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 8 },
    });
    onTestFinished(async () => void (await worker.terminate()));
    const [changed] = (await once(worker, 'message')) as [number];
    expect(changed).toBe(300_000);
  });

  it('agrees with the rules, word for word, after random edits', () => {
    const units = fc.array(
      fc.record({
        id: fc.constantFrom(...'abcdefghij'.split('')),
        text: fc.constantFrom(...'uvwxyz'.split('')),
        starts: fc.boolean(),
      }),
      { maxLength: 14 },
    );
    fc.assert(
      fc.property(units, units, (old, now) => {
        expect(match(old, now)).toEqual(oracle(old, now));
      }),
      { numRuns: campaignSize(400, 20_000) },
    );
  });
});

describe('the text of a unit id', () => {
  // RFC 4648 section 10, in lower case and without padding.
  it.each([
    ['f', 'my'],
    ['fo', 'mzxq'],
    ['foo', 'mzxw6'],
    ['foob', 'mzxw6yq'],
    ['fooba', 'mzxw6ytb'],
    ['foobar', 'mzxw6ytboi'],
  ])('is base32: %s', (bytes, text) => {
    expect(unitIdText(Buffer.from(bytes))).toBe(`tu1_${text}`);
  });

  it('has 26 characters behind its prefix', () => {
    expect(unitIdText(Buffer.alloc(16, 0xff))).toBe(`tu1_${'7'.repeat(25)}4`);
  });

  it('property: gives its bytes back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        expect(unitIdBytes(unitIdText(bytes))).toEqual(Uint8Array.from(bytes));
      }),
    );
  });

  it.each([
    '',
    'tu1_',
    `tu1_${'a'.repeat(25)}`,
    `tu1_${'a'.repeat(25)}b`,
    `tu1_${'A'.repeat(26)}`,
    'a'.repeat(26),
  ])('is not %j', (text) => {
    expect(unitIdBytes(text)).toBeNull();
  });
});
