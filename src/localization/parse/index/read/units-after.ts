import type { PARSE_STATUSES, CARRY_TIERS } from '../../../../contract/schemas/vocabulary.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { CONTENT_KEY_COLUMNS, contentKeyOf } from './containers-after.ts';
import type { CarriedBy, ReadCarried } from './unit-segments.ts';
import type { ContentReader, StoredLeaf, StoredUnit } from './content-reader.ts';
import { readReportedIndex } from './reported-index.ts';

/** A place in the units of a release, which are in the order of their files: a file, and the ordinal of a unit of it. */
export interface UnitPlace {
  readonly destination: string;
  readonly ordinal: number;
}

/** The place of the first unit. */
export const FIRST_UNIT: UnitPlace = { destination: '', ordinal: 0 };

export interface UnitsAfterQuery {
  /** Where to begin. If no unit is at this place, the answer begins with the next unit. */
  readonly from: UnitPlace;
  readonly limit: number;
  /** UTF-16 code units of source text after which the answer ends; it has at least one unit. */
  readonly maxCharacters: number;
  /** The file at which the answers end; absent: the last one. */
  readonly lastDestination?: string;
}

export interface IndexedUnit extends UnitPlace {
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  readonly sourceText: string;
  readonly fieldPath: string;
  readonly speaker: string | null;
  readonly scene: string | null;
  readonly archiveEntry: string | null;
  readonly pathId: string | null;
  readonly format: string;
  readonly parseStatus: (typeof PARSE_STATUSES)[number];
  /** `null` for a new unit. */
  readonly carriedBy: {
    readonly tier: (typeof CARRY_TIERS)[number];
    /** The id in the previous release, also where it is the same. */
    readonly unitId: Uint8Array;
  } | null;
}

export interface IndexedContainer {
  readonly destination: string;
  readonly blake3: Uint8Array;
  readonly bytes: number;
  readonly rulesDigest: Uint8Array;
  readonly parserVersion: string;
  readonly contentKey: Uint8Array;
}

export interface UnitsAfter {
  /** `null` before the first release. */
  readonly releaseId: string | null;
  readonly generation: number;
  /** The release that the units were carried over from. */
  readonly previousReleaseId: string | null;
  readonly total: number;
  readonly items: readonly IndexedUnit[];
  readonly files: readonly IndexedContainer[];
  /** Where the next answer begins; `null` at the end. */
  readonly next: UnitPlace | null;
}

/** Pages through the units of the reported release by their place, in bounded answers. */
export type ReadUnitsAfter = (query: UnitsAfterQuery) => UnitsAfter;

/** Units that are read at a time: they may have up to 1 MiB of text each. */
const SLICE_UNITS = 64;

export function createUnitsAfterReader(
  database: Database,
  reader: ContentReader,
  readCarried: ReadCarried,
): ReadUnitsAfter {
  // SQLite compares the names, by which it sorts. As a condition, it would read all files behind the last one.
  const nextFile =
    database.prepare(`SELECT position, destination, units, parse_status, bytes, destination > ?4 AS is_beyond,
    ${CONTENT_KEY_COLUMNS} FROM container JOIN content USING (content_id)
    WHERE index_id = ?1 AND destination >= ?2 AND units > iif(destination = ?2, ?3, 0) ORDER BY destination LIMIT 1`);
  return ({ from, limit, maxCharacters, lastDestination = null }) => {
    const index = readReportedIndex(database);
    if (index === null) return NOTHING_INDEXED;
    const items: IndexedUnit[] = [];
    const files: IndexedContainer[] = [];
    let characters = 0;
    let place: UnitPlace | null = from;
    while (place !== null && items.length < limit && characters < maxCharacters) {
      const row = nextFile.get(index.indexId, place.destination, place.ordinal, lastDestination);
      if (row === undefined || row['is_beyond'] === 1) {
        place = null;
        break;
      }
      const destination = String(row['destination']);
      if (files.at(-1)?.destination !== destination) files.push(fileOf(row));
      const position = Number(row['position']);
      const [contentId, units] = [Number(row['content_id']), Number(row['units'])];
      const parseStatus = row['parse_status'] as IndexedUnit['parseStatus'];
      const first: number = destination === place.destination ? place.ordinal : 0;
      const last: number = Math.min(units, first + Math.min(SLICE_UNITS, limit - items.length)) - 1;
      const segment = { position, destination, contentId, first, units: last - first + 1 };
      const carriedAt = readCarried(index, segment);
      let next: number = last + 1;
      for (const { unit, leaf } of reader.eachUnit(contentId, first, last)) {
        if (items.length > 0 && characters >= maxCharacters) {
          next = unit.ordinal;
          break;
        }
        items.push(unitOf({ destination, parseStatus }, unit, leaf, carriedAt(unit.ordinal)));
        characters += unit.sourceText.length;
      }
      place = { destination, ordinal: next };
    }
    const { releaseId, generation, totals } = index;
    return {
      releaseId,
      generation,
      previousReleaseId: totals.carry_over?.previous_release_id ?? null,
      total: totals.units,
      items,
      files,
      next: place,
    };
  };
}

const NOTHING_INDEXED: UnitsAfter = {
  releaseId: null,
  generation: 0,
  previousReleaseId: null,
  total: 0,
  items: [],
  files: [],
  next: null,
};

function fileOf(row: Record<string, unknown>): IndexedContainer {
  return {
    destination: String(row['destination']),
    blake3: row['blake3'] as Uint8Array,
    bytes: Number(row['bytes']),
    rulesDigest: row['rules_digest'] as Uint8Array,
    parserVersion: String(row['parser_version']),
    contentKey: contentKeyOf(row),
  };
}

function unitOf(
  file: { readonly destination: string; readonly parseStatus: IndexedUnit['parseStatus'] },
  { keyPath: _keyPath, ...unit }: StoredUnit,
  { archiveEntry, pathId, format }: StoredLeaf,
  carried: CarriedBy | null,
): IndexedUnit {
  return {
    ...unit,
    ...file,
    archiveEntry,
    pathId: pathId === null ? null : String(pathId),
    format,
    carriedBy: carried === null ? null : { tier: carried.tier, unitId: carried.oldUnitId ?? unit.unitId },
  };
}
