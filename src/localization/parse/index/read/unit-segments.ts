import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { ContentReader } from './content-reader.ts';
import type { ReportedIndex } from './reported-index.ts';
import { conditionOf, leafCondition, patternOf, type UnitQuery } from './unit-filter.ts';
import type { CarryTier } from '../carry/match-units.ts';

export interface UnitSegment {
  readonly position: number;
  readonly destination: string;
  readonly contentId: number;
  readonly first: number;
  readonly units: number;
}

interface UnitPage {
  readonly total: number;
  readonly segments: readonly UnitSegment[];
}

/** Finds the units of a page. Only `field_path` reads units for it; the other filters are properties of files and leaves. */
export type FindPage = (index: ReportedIndex, query: UnitQuery) => UnitPage;

/** The units in the files and leaves that a query selects, and the place of the first one of each segment in the release. */
export type EachSegment = (
  index: ReportedIndex,
  query: UnitQuery,
) => Iterable<{ readonly segment: UnitSegment; readonly at: number }>;

const CONTAINERS = `SELECT position, destination, content_id, 0 AS first, units, units_before
  FROM container JOIN content USING (content_id) WHERE index_id = ?`;

export function createEachSegment(database: Database): EachSegment {
  return function* eachSegment({ indexId }, query) {
    const matches = patternOf(query);
    const file = conditionOf([['destination', query.destination]]);
    const leaf = leafCondition(query, 'leaf');
    const statement =
      leaf.sql === ''
        ? database.prepare(`${CONTAINERS}${file.sql} AND units > 0 ORDER BY position`)
        : database.prepare(`SELECT position, destination, content_id, first_ordinal AS first, units, units_before
            FROM container JOIN leaf USING (content_id)
            WHERE index_id = ?${file.sql}${leaf.sql} ORDER BY position, first_ordinal`);
    let checked = { position: -1, isMatch: false };
    for (const row of statement.iterate(indexId, ...file.values, ...leaf.values)) {
      const segment = segmentOf(row);
      if (segment.position !== checked.position) {
        checked = { position: segment.position, isMatch: matches(segment.destination) };
      }
      if (checked.isMatch) yield { segment, at: Number(row['units_before']) + segment.first };
    }
  };
}

export function createPageFinder(
  database: Database,
  reader: ContentReader,
  eachSegment: EachSegment,
): FindPage {
  const page = database.prepare(
    `${CONTAINERS} AND position >= ? AND units_before < ? AND units > 0 ORDER BY position LIMIT ?`,
  );
  const unitsBefore = database.prepare(
    'SELECT units_before FROM container WHERE index_id = ? AND position = ?',
  );

  /** The position of the last file that begins at a unit or before it, by binary search. */
  const positionOf = ({ indexId, totals }: ReportedIndex, unit: number): number => {
    let [low, high] = [0, totals.containers - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (Number(unitsBefore.get(indexId, middle)?.['units_before']) <= unit) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const wholePage = (index: ReportedIndex, { offset, limit }: UnitQuery): UnitPage => {
    const selected = new PageSelection(offset, limit);
    const first = positionOf(index, offset);
    for (const row of page.iterate(index.indexId, first, offset + limit, limit)) {
      selected.skipTo(Number(row['units_before']));
      selected.add(segmentOf(row));
    }
    return { total: index.totals.units, segments: selected.segments };
  };

  return (index, query) => {
    const { offset, limit, ...filters } = query;
    if (Object.values(filters).every((value) => value === undefined)) return wholePage(index, query);
    const selected = new PageSelection(offset, limit);
    for (const { segment } of eachSegment(index, query)) {
      if (query.field_path === undefined) {
        selected.add(segment);
        continue;
      }
      const last = segment.first + segment.units - 1;
      for (const ordinal of reader.ordinalsOf(segment.contentId, segment.first, last, query.field_path)) {
        selected.add({ ...segment, first: ordinal, units: 1 });
      }
    }
    return { total: selected.total, segments: selected.segments };
  };
}

class PageSelection {
  readonly segments: UnitSegment[] = [];
  total = 0;
  readonly #offset: number;
  readonly #end: number;

  constructor(offset: number, limit: number) {
    this.#offset = offset;
    this.#end = offset + limit;
  }

  /** Counts units that come before the next segment. */
  skipTo(total: number): void {
    this.total = total;
  }

  add(segment: UnitSegment): void {
    const start = Math.max(this.#offset - this.total, 0);
    const end = Math.min(this.#end - this.total, segment.units);
    if (end > start) this.segments.push({ ...segment, first: segment.first + start, units: end - start });
    this.total += segment.units;
  }
}

function segmentOf(row: Record<string, unknown>): UnitSegment {
  return {
    position: Number(row['position']),
    destination: String(row['destination']),
    contentId: Number(row['content_id']),
    first: Number(row['first']),
    units: Number(row['units']),
  };
}

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
    if (totals.carry_over === null) return () => null;
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
