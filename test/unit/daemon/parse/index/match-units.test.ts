import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  findSingles,
  matchExactly,
  matchLoosely,
  type UnitMatches,
} from '../../../../../src/daemon/parse/index/match-units.ts';
import type { ContainerColumns } from '../../../../../src/daemon/parse/index/unit-columns.ts';
import { CARRY_TIERS } from '../../../../../src/contract/schemas/vocabulary.ts';
import { finishSteps, sha256 } from '../../../../support/index-release.ts';

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

/** All tiers, as for a release with this one container. */
function* matchUnits(old: ContainerColumns, now: ContainerColumns): Generator<void, UnitMatches> {
  const matches = yield* matchExactly(old, now);
  const singles = yield* findSingles(old, now, matches);
  yield* matchLoosely(old, now, singles, matches);
  return matches;
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
  const count = (units: readonly Unit[], text: string): number => units.filter((u) => u.text === text).length;
  const result: (readonly [number, string] | null)[] = now.map(() => null);
  const taken = new Set<number>();
  const fits: Record<string, (o: number, n: number) => boolean> = {
    same: (o, n) => old[o]!.id === now[n]!.id && old[o]!.text === now[n]!.text,
    moved: (o, n) => {
      const [before, after] = [neighbours(old, o), neighbours(now, n)];
      const isAlone = after.every((text) => text === null);
      return !isAlone && old[o]!.text === now[n]!.text && before.every((text, side) => text === after[side]);
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

describe('matching the units of a container', () => {
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
    const module = new URL('../../../../support/match-changed-units.ts', import.meta.url);
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
      { numRuns: 2000 },
    );
  });
});
