import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { searchFor } from '../../../../domain/text/text-search.ts';
import { unitIdBytes, unitIdText } from '../../../unit-id-text.ts';
import type { ReportedIndex } from './reported-index.ts';
import type { UnitQuery } from './unit-filter.ts';
import type { EachSegment, UnitSegment } from './unit-segments.ts';

/** A unit of a release by its file and its place in it. */
export interface NamedPlace {
  readonly destination: string;
  readonly ordinal: number;
  readonly unitId: string;
}

/** A unit that a search has found. */
export interface FoundUnit extends NamedPlace {
  /** Its place among all units of the release. */
  readonly at: number;
  /** Hexadecimal. */
  readonly sourceDigest: string;
  /** Whether its source has the text that is looked for; false without one. */
  readonly isInSource: boolean;
}

/** A part of a search: it looks at some units of a release, in their order. */
export interface UnitScan {
  /** `offset` is the place of the first unit, and `limit` bounds those that are found. */
  readonly query: UnitQuery;
  readonly speaker: string | null;
  /** The only unit to find; `null`: any. */
  readonly unitId: string | null;
  /** Looked for in sources; `null`: in none. */
  readonly text: string | null;
  /** Units that are found whatever their source is, as ordinals by file; `null`: all. */
  readonly places: ReadonlyMap<string, readonly number[]> | null;
  /** The only files to look at; `null`: all. */
  readonly destinations: ReadonlySet<string> | null;
  /** Most units to look at. */
  readonly most: number;
}

export interface ScannedUnits {
  readonly releaseId: string | null;
  readonly generation: number;
  /** Units of the release. */
  readonly total: number;
  readonly found: readonly FoundUnit[];
  /** Where the search continues; `null` at the end. */
  readonly next: number | null;
}

/** Looks at some units of the reported release. */
export type ScanUnits = (index: ReportedIndex | null, scan: UnitScan) => ScannedUnits;

/** Units that one statement reads. */
const STEP_UNITS = 2000;

const COLUMNS = 'ordinal, unit_id, source_digest, source_text';
const FILTERS =
  '(?4 IS NULL OR speaker = ?4) AND (?5 IS NULL OR field_path = ?5) AND (?6 IS NULL OR unit_id = ?6)';

export function createUnitScan(database: Database, eachSegment: EachSegment): ScanUnits {
  const inRange =
    database.prepare(`SELECT ${COLUMNS} FROM unit WHERE content_id = ?1 AND ordinal BETWEEN ?2 AND ?3
    AND ${FILTERS} AND (?7 IS NULL OR source_text LIKE ?7 ESCAPE '\\') ORDER BY ordinal`);
  const atPlaces =
    database.prepare(`SELECT ${COLUMNS} FROM unit WHERE content_id = ?1 AND ordinal BETWEEN ?2 AND ?3
    AND ${FILTERS} AND ordinal IN (SELECT value FROM json_each(?7)) ORDER BY ordinal`);
  return (index, { query, speaker, unitId, text, places, destinations, most }) => {
    if (index === null) return { releaseId: null, generation: 0, total: 0, found: [], next: null };
    const { releaseId, generation, totals } = index;
    const wanted = text === null ? null : searchFor(text);
    const found: FoundUnit[] = [];
    // An id that is none belongs to no unit.
    const id = unitId === null ? null : (unitIdBytes(unitId) ?? new Uint8Array());
    const answer = (next: number | null): ScannedUnits => ({
      releaseId,
      generation,
      total: totals.units,
      found,
      next,
    });
    /** The units of a step in their order. */
    const rowsOf = ({ contentId, destination }: UnitSegment, first: number, last: number) => {
      const shared = [contentId, first, last, speaker, query.field_path ?? null, id] as const;
      // Every unit is read where the target alone may have the text.
      if (places === null) return inRange.all(...shared, null);
      const inSources = wanted === null ? [] : inRange.all(...shared, wanted.likePattern);
      const ordinals = places.get(destination);
      const rows = inSources.filter((row) => wanted?.isIn(String(row['source_text'])) === true);
      if (ordinals === undefined) return rows;
      const listed = atPlaces.all(...shared, JSON.stringify(ordinals));
      const byOrdinal = new Map([...listed, ...rows].map((row) => [Number(row['ordinal']), row]));
      return [...byOrdinal.values()].toSorted((a, b) => Number(a['ordinal']) - Number(b['ordinal']));
    };
    let looked = 0;
    for (const { segment, at } of eachSegment(index, query)) {
      const { destination, first, units } = segment;
      if (at + units <= query.offset || destinations?.has(destination) === false) continue;
      if (wanted === null && places !== null && !places.has(destination)) continue;
      const last = first + units - 1;
      for (let from = first + Math.max(0, query.offset - at); from <= last; from += STEP_UNITS) {
        if (looked >= most) return answer(at + from - first);
        const to = Math.min(last, from + STEP_UNITS - 1);
        looked += to - from + 1;
        for (const row of rowsOf(segment, from, to)) {
          const ordinal = Number(row['ordinal']);
          if (found.length === query.limit) return answer(at + ordinal - first);
          found.push({
            at: at + ordinal - first,
            destination,
            ordinal,
            unitId: unitIdText(row['unit_id'] as Uint8Array),
            sourceDigest: Buffer.from(row['source_digest'] as Uint8Array).toString('hex'),
            isInSource: wanted?.isIn(String(row['source_text'])) ?? false,
          });
        }
      }
    }
    return answer(null);
  };
}
