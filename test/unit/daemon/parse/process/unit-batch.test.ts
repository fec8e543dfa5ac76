import { describe, expect, it } from 'vitest';
import { serialize, deserialize } from 'node:v8';
import type { ParsedUnit } from '../../../../../src/daemon/parse/container/parsed-container.ts';
import {
  packUnits,
  unpackUnits,
  type UnitBatch,
} from '../../../../../src/daemon/parse/process/unit-batch.ts';

const unit = (number: number, part: Partial<ParsedUnit> = {}): ParsedUnit => ({
  archiveEntry: null,
  pathId: null,
  classId: null,
  format: 'json',
  fieldPath: `/${number}/Text`,
  keyPath: `[Id=${number}]/Text`,
  unitId: new Uint8Array(16).fill(number),
  sourceDigest: new Uint8Array(32).fill(number + 100),
  sourceText: `第${number}話`,
  speaker: number % 2 === 0 ? null : 'ホシノ',
  scene: number % 3 === 0 ? null : '教室',
  ...part,
});

/** The units that arrive in the other process. */
const send = (units: readonly ParsedUnit[]): ParsedUnit[] =>
  unpackUnits(deserialize(serialize(packUnits(units))) as UnitBatch).map((each) => ({
    ...each,
    unitId: new Uint8Array(each.unitId),
    sourceDigest: new Uint8Array(each.sourceDigest),
  }));

describe('a batch of units', () => {
  it('arrives as it was sent, in order, with the part of each unit', () => {
    const units = [
      unit(1),
      unit(2),
      unit(3, { archiveEntry: 'a.json' }),
      unit(4, { archiveEntry: 'b', pathId: 2n ** 63n - 1n, classId: 114, format: 'unity' }),
      unit(5, { archiveEntry: 'b', pathId: -(2n ** 63n), classId: 114, format: 'unity' }),
      unit(6),
    ];
    expect(send(units)).toEqual(units);
  });

  it('names the part of a container once for all of its units', () => {
    expect(packUnits([unit(1), unit(2), unit(3, { archiveEntry: 'a.json' })]).leaves).toEqual([
      { archiveEntry: null, pathId: null, classId: null, format: 'json', units: 2 },
      { archiveEntry: 'a.json', pathId: null, classId: null, format: 'json', units: 1 },
    ]);
  });

  it('can be empty', () => {
    expect(send([])).toEqual([]);
  });
});
