import { CARRY_TIERS } from '../../../contract/schemas/vocabulary.ts';
import type { Comparison } from './comparison.ts';
import type { UnitMatches } from './match-units.ts';
import { unitIdAt, type UnitColumns } from './unit-columns.ts';

/** Units of one file in one release. */
export interface PairSide {
  readonly columns: UnitColumns;
  /** Of the file. */
  readonly position: number;
  /** The ordinal of a unit of the columns within the file. */
  readonly ordinalOf: (unit: number) => number;
}

/** Stores pairs: runs of `same` and of `changed`, whose ids are equal, and single rows of the others. Counts them. */
export function* storePairs(
  { prepare, rows, counts, indexId }: Comparison,
  old: PairSide,
  now: PairSide,
  matches: UnitMatches,
): Generator<void, void> {
  const { oldUnits, tiers } = matches;
  const insert = prepare(`INSERT INTO pair VALUES (?, 'new', ?, ?, ?, ?, ?, ?, ?)`);
  for (let first = 0; first < oldUnits.length;) {
    const oldFirst = oldUnits[first] ?? -1;
    const tier = CARRY_TIERS[tiers[first] ?? 0] ?? 'same';
    const keepsId = tier === 'same' || tier === 'changed';
    const units = oldFirst !== -1 && keepsId ? runLength(old, now, matches, first) : 1;
    if (oldFirst !== -1) {
      counts[tier] += units;
      const oldId = keepsId ? null : Buffer.from(unitIdAt(old.columns, oldFirst), 'latin1');
      const [ordinal, oldOrdinal] = [now.ordinalOf(first), old.ordinalOf(oldFirst)];
      rows.add(insert, indexId, now.position, ordinal, units, tier, old.position, oldOrdinal, oldId);
      yield* rows.drain();
    }
    first += units;
  }
}

/** How many units from one on follow consecutive old units in the same way. */
function runLength(old: PairSide, now: PairSide, { oldUnits, tiers }: UnitMatches, first: number): number {
  const oldFirst = oldUnits[first] ?? -1;
  let units = 1;
  while (
    tiers[first + units] === tiers[first] &&
    oldUnits[first + units] === oldFirst + units &&
    now.ordinalOf(first + units) === now.ordinalOf(first) + units &&
    old.ordinalOf(oldFirst + units) === old.ordinalOf(oldFirst) + units
  ) {
    units += 1;
  }
  return units;
}
