import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { CarryTier } from '../carry/match-units.ts';
import type { ReportedIndex } from './reported-index.ts';
import type { UnitSegment } from './unit-segments.ts';

export interface CarriedBy {
  readonly tier: CarryTier;
  /** The id of the unit in the previous release; `null` when it is the same. */
  readonly oldUnitId: Uint8Array | null;
}

/**
 * How the units of a segment were carried over.
 *
 * @returns gives it for an ordinal; `null` for a unit that is new, and for all units of the first release
 */
export type ReadCarried = (
  index: ReportedIndex,
  segment: UnitSegment,
) => (ordinal: number) => CarriedBy | null;

export function createCarriedReader(database: Database): ReadCarried {
  const unchanged = database.prepare(
    'SELECT is_unchanged FROM container WHERE index_id = ? AND position = ?',
  );
  const pairs = database.prepare(`SELECT first_ordinal, units, tier, old_unit_id FROM pair
    WHERE index_id = ?1 AND side = 'new' AND position = ?2 AND first_ordinal <= ?4 AND first_ordinal >= coalesce(
      (SELECT max(first_ordinal) FROM pair
        WHERE index_id = ?1 AND side = 'new' AND position = ?2 AND first_ordinal <= ?3), 0)
    ORDER BY first_ordinal`);
  return ({ indexId, totals }, { position, first, units }) => {
    if (totals.carryOver === null) return () => null;
    if (unchanged.get(indexId, position)?.['is_unchanged'] === 1)
      return () => ({ tier: 'same', oldUnitId: null });
    const carried = new Map<number, CarriedBy>();
    const end = first + units;
    for (const row of pairs.iterate(indexId, position, first, end - 1)) {
      const [start, count, tier] = [Number(row['first_ordinal']), Number(row['units']), row['tier']];
      if (tier === 'new') continue;
      const by = { tier: tier as CarryTier, oldUnitId: row['old_unit_id'] as Uint8Array | null };
      for (let o = Math.max(first, start); o < Math.min(end, start + count); o += 1) carried.set(o, by);
    }
    return (ordinal) => carried.get(ordinal) ?? null;
  };
}
