import { describe, expect, it } from 'vitest';
import { assert, asyncProperty, integer, uniqueArray } from 'fast-check';
import type { UnitsAfterQuery } from '../../../../../src/daemon/parse/index/units-after.ts';
import { createUnitSource } from '../../../../../src/daemon/translation/judge/unit-source.ts';
import { indexRelease, openTestIndex, type ModelFile } from '../../../../support/index-release.ts';

const UNITS = 300;
const FILES: readonly ModelFile[] = [
  { destination: 'a.json', leaves: [{ units: [['x', 'other file']] }] },
  {
    destination: 'b.zip',
    leaves: ['one', 'two'].map((archiveEntry, leaf) => ({
      archiveEntry,
      units: Array.from({ length: UNITS / 2 }, (_, at) => [`${leaf}-${at}`, `text ${leaf}-${at}`] as const),
    })),
  },
];

function open() {
  const index = openTestIndex();
  indexRelease(index, 'r1', FILES);
  const queries: UnitsAfterQuery[] = [];
  const source = createUnitSource((query) => {
    queries.push(query);
    return Promise.resolve(index.unitsAfter(query));
  });
  const { generation } = index.status();
  return { index, source, queries, request: { releaseId: 'r1', generation, indexPosition: 1 } };
}

const textOf = (ordinal: number): string => {
  const half = UNITS / 2;
  return ordinal < half ? `text 0-${ordinal}` : `text 1-${ordinal - half}`;
};

describe('reading the units of tasks', () => {
  it('gives the unit of each ordinal in the order of the ordinals, with its neighbours in the container', async () => {
    const { source, request } = open();
    const ordinals = uniqueArray(integer({ min: 0, max: UNITS - 1 }), { minLength: 1, maxLength: 20 });
    await assert(
      asyncProperty(ordinals, integer({ min: 0, max: 3 }), async (wanted, neighbours) => {
        const units = await source.unitsOf({ ...request, ordinals: wanted, neighbours });
        expect(units.map(({ unit }) => unit.sourceText)).toEqual(wanted.map(textOf));
        for (const [at, { before, after }] of units.entries()) {
          const ordinal = wanted[at] ?? 0;
          const inContainer = (other: number): boolean =>
            other >= 0 && other < UNITS && Math.floor(other / 150) === Math.floor(ordinal / 150);
          const around = (from: number) =>
            Array.from({ length: neighbours }, (_, distance) => from + distance).filter(inContainer);
          expect(before.map((unit) => unit.ordinal)).toEqual(around(ordinal - neighbours));
          expect(after.map((unit) => unit.ordinal)).toEqual(around(ordinal + 1));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('reads units that are close to each other with one call, and a distant one with its own', async () => {
    const { source, request, queries } = open();
    await source.unitsOf({ ...request, ordinals: [7, 3, 250] });
    expect(queries.map(({ from, limit }) => [from.ordinal, limit])).toEqual([
      [3, 5],
      [250, 1],
    ]);
  });

  it.each([
    ['another generation', { generation: 99 }],
    ['another release', { releaseId: 'r0' }],
    ['a file without these units', { indexPosition: 0 }],
  ])('asks to try again when the index shows %s', async (_, other) => {
    const { source, request } = open();
    const read = source.unitsOf({ ...request, ...other, ordinals: [200] });
    await expect(read).rejects.toMatchObject({
      code: 'text_not_indexed',
      retryable: true,
      message: expect.stringContaining('try again'),
    });
  });

  it('says so when the index cannot be read, and ends with the signal', async () => {
    const { request } = open();
    const broken = createUnitSource(() => Promise.reject(new Error('disk')));
    const read = (signal?: AbortSignal) => broken.unitsOf({ ...request, ordinals: [1] }, signal);
    await expect(read()).rejects.toMatchObject({
      code: 'text_not_indexed',
      message: expect.stringContaining('disk'),
    });
    const reason = new Error('stop');
    await expect(read(AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
