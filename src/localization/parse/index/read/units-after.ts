import type { PARSE_STATUSES, CARRY_TIERS } from '../../../../contract/schemas/vocabulary.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { CarriedBy, ReadCarried } from './unit-segments.ts';
import type { ContentReader, StoredLeaf, StoredUnit } from './content-reader.ts';
import { readReportedIndex } from './reported-index.ts';

/** A place in the units of a release: the file's position in the index, and the ordinal of a unit of it. */
export interface UnitPlace {
  readonly position: number;
  readonly ordinal: number;
}

export interface UnitsAfterQuery {
  /** Where to begin. If no unit is at this place, the answer begins with the next unit. */
  readonly from: UnitPlace;
  readonly limit: number;
  /** UTF-16 code units of source text after which the answer ends; it has at least one unit. */
  readonly maxCharacters: number;
  /** The file at which the answers end; absent: the last one. */
  readonly lastPosition?: number;
}

export interface IndexedUnit extends UnitPlace {
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  readonly sourceText: string;
  readonly fieldPath: string;
  readonly speaker: string | null;
  readonly scene: string | null;
  readonly destination: string;
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
  readonly position: number;
  readonly destination: string;
  readonly blake3: Uint8Array;
  readonly bytes: number;
  readonly rulesDigest: Uint8Array;
  readonly parserVersion: string;
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
  const nextFile =
    database.prepare(`SELECT position, destination, content_id, units, parse_status, container.blake3, bytes,
    container.rules_digest, parser_version FROM container JOIN content USING (content_id)
    WHERE index_id = ?1 AND (position > ?2 OR (position = ?2 AND units > ?3)) AND units > 0
    ORDER BY position LIMIT 1`);
  return ({ from, limit, maxCharacters, lastPosition = Number.MAX_SAFE_INTEGER }) => {
    const index = readReportedIndex(database);
    if (index === null) return NOTHING_INDEXED;
    const items: IndexedUnit[] = [];
    const files: IndexedContainer[] = [];
    let characters = 0;
    let place: UnitPlace | null = from;
    while (place !== null && items.length < limit && characters < maxCharacters) {
      const row = nextFile.get(index.indexId, place.position, place.ordinal);
      const file = row === undefined ? null : fileOf(row);
      if (row === undefined || file === null || file.position > lastPosition) {
        place = null;
        break;
      }
      if (files.at(-1)?.position !== file.position) files.push(file);
      const { position, destination } = file;
      const [contentId, units] = [Number(row['content_id']), Number(row['units'])];
      const parseStatus = row['parse_status'] as IndexedUnit['parseStatus'];
      const first: number = position === place.position ? place.ordinal : 0;
      const last: number = Math.min(units, first + Math.min(SLICE_UNITS, limit - items.length)) - 1;
      const segment = { position, destination, contentId, first, units: last - first + 1 };
      const carriedAt = readCarried(index, segment);
      let next: number = last + 1;
      for (const { unit, leaf } of reader.eachUnit(contentId, first, last)) {
        if (items.length > 0 && characters >= maxCharacters) {
          next = unit.ordinal;
          break;
        }
        items.push(unitOf({ position, destination, parseStatus }, unit, leaf, carriedAt(unit.ordinal)));
        characters += unit.sourceText.length;
      }
      place = next < units ? { position, ordinal: next } : { position: position + 1, ordinal: 0 };
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
    position: Number(row['position']),
    destination: String(row['destination']),
    blake3: row['blake3'] as Uint8Array,
    bytes: Number(row['bytes']),
    rulesDigest: row['rules_digest'] as Uint8Array,
    parserVersion: String(row['parser_version']),
  };
}

function unitOf(
  file: {
    readonly position: number;
    readonly destination: string;
    readonly parseStatus: IndexedUnit['parseStatus'];
  },
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
