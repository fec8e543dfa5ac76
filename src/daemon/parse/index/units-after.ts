import type { PARSE_STATUSES, CARRY_TIERS } from '../../../contract/schemas/vocabulary.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { createCarriedReader } from './carried-units.ts';
import { createContentReader } from './content-reader.ts';
import { readReportedIndex, type ReportedIndex } from './reported-index.ts';

/** A place in the units of a release: the file's position in the index, and the ordinal of a unit of it. */
export interface UnitPlace {
  readonly position: number;
  readonly ordinal: number;
}

/** Asks for the units of the reported release from a place on. */
export interface UnitsAfterQuery {
  /** The first unit that is wanted; a place without a unit stands for the next one that there is. */
  readonly from: UnitPlace;
  /** Most units of the answer. */
  readonly limit: number;
  /** UTF-16 code units of source text after which the answer ends; it has at least one unit. */
  readonly maxCharacters: number;
  /** The file at which the answers end; absent: the last one. */
  readonly lastPosition?: number;
}

/** A unit with all that the work on its translation needs. */
export interface IndexedUnit extends UnitPlace {
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  readonly sourceText: string;
  readonly fieldPath: string;
  readonly speaker: string | null;
  readonly scene: string | null;
  readonly destination: string;
  readonly archiveEntry: string | null;
  /** Of the object in a Unity file. */
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

/** A file of the reported release with units. */
export interface IndexedContainer {
  /** In the index. */
  readonly position: number;
  readonly destination: string;
  /** 32 bytes. */
  readonly blake3: Uint8Array;
  /** Size of the file. */
  readonly bytes: number;
  /** Digest of the rules that apply to the file. */
  readonly rulesDigest: Uint8Array;
  readonly parserVersion: string;
}

/** Units of the reported release, in its order. */
export interface UnitsAfter {
  /** `null` before the first release. */
  readonly releaseId: string | null;
  readonly generation: number;
  /** The release that the units were carried over from. */
  readonly previousReleaseId: string | null;
  /** Units of the whole release. */
  readonly total: number;
  readonly items: readonly IndexedUnit[];
  /** The files of these units, in their order. */
  readonly files: readonly IndexedContainer[];
  /** Where the next answer begins; `null` at the end. */
  readonly next: UnitPlace | null;
}

/** Pages through the units of the reported release by their place, in bounded answers. */
export type ReadUnitsAfter = (query: UnitsAfterQuery) => UnitsAfter;

/** Units that are read at a time: they may have up to 1 MiB of text each. */
const SLICE_UNITS = 64;

/** A file with units. */
interface UnitFile extends IndexedContainer {
  readonly contentId: number;
  readonly units: number;
  readonly parseStatus: IndexedUnit['parseStatus'];
}

/** Creates the reader on the database of the index. */
export function createUnitsAfterReader(database: Database): ReadUnitsAfter {
  const nextFile =
    database.prepare(`SELECT position, destination, content_id, units, parse_status, container.blake3, bytes,
    container.rules_digest, parser_version FROM container JOIN content USING (content_id)
    WHERE index_id = ?1 AND (position > ?2 OR (position = ?2 AND units > ?3)) AND units > 0
    ORDER BY position LIMIT 1`);
  const unitsOf = createFileReader(database);
  return ({ from, limit, maxCharacters, lastPosition = Number.MAX_SAFE_INTEGER }) => {
    const index = readReportedIndex(database);
    if (index === null) {
      return NOTHING_INDEXED;
    }
    const items: IndexedUnit[] = [];
    const files: UnitFile[] = [];
    let characters = 0;
    let place: UnitPlace | null = from;
    while (place !== null && items.length < limit && characters < maxCharacters) {
      const file = fileOf(nextFile.get(index.indexId, place.position, place.ordinal));
      if (file === null || file.position > lastPosition) {
        place = null;
        break;
      }
      const first: number = file.position === place.position ? place.ordinal : 0;
      files.push(file);
      const slice = Math.min(SLICE_UNITS, limit - items.length);
      const last: number = Math.min(file.units, first + slice) - 1;
      let next: number = last + 1;
      for (const unit of unitsOf(index, file, first, last)) {
        if (items.length > 0 && characters >= maxCharacters) {
          next = unit.ordinal;
          break;
        }
        items.push(unit);
        characters += unit.sourceText.length;
      }
      place =
        next < file.units
          ? { position: file.position, ordinal: next }
          : { position: file.position + 1, ordinal: 0 };
    }
    const { releaseId, generation, totals } = index;
    const previousReleaseId = totals.carryOver?.previousReleaseId ?? null;
    return {
      releaseId,
      generation,
      previousReleaseId,
      total: totals.units,
      items,
      files: files.filter(({ position }, at) => files[at - 1]?.position !== position).map(containerOf),
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

/** The facts of a file that an answer has. */
function containerOf({
  contentId: _content,
  units: _units,
  parseStatus: _status,
  ...file
}: UnitFile): IndexedContainer {
  return file;
}

function fileOf(row: Record<string, unknown> | undefined): UnitFile | null {
  if (row === undefined) return null;
  return {
    position: Number(row['position']),
    destination: String(row['destination']),
    contentId: Number(row['content_id']),
    units: Number(row['units']),
    parseStatus: row['parse_status'] as UnitFile['parseStatus'],
    blake3: row['blake3'] as Uint8Array,
    bytes: Number(row['bytes']),
    rulesDigest: row['rules_digest'] as Uint8Array,
    parserVersion: String(row['parser_version']),
  };
}

/** Reads a range of units of one file; the range includes both ends. */
function createFileReader(
  database: Database,
): (index: ReportedIndex, file: UnitFile, first: number, last: number) => IndexedUnit[] {
  const reader = createContentReader(database);
  const readCarried = createCarriedReader(database);
  return (index, { position, destination, contentId, parseStatus }, first, last) => {
    const leaves = reader.leaves(contentId, first, last);
    const segment = { position, destination, contentId, first, units: last - first + 1 };
    const carriedAt = readCarried(index, segment);
    let leafAt = 0;
    return reader.units(contentId, first, last).flatMap((unit) => {
      let leaf = leaves[leafAt];
      while (leaf !== undefined && unit.ordinal >= leaf.firstOrdinal + leaf.units)
        leaf = leaves[(leafAt += 1)];
      if (leaf === undefined) return [];
      const { keyPath: _keyPath, ...fields } = unit;
      const carried = carriedAt(unit.ordinal);
      return {
        ...fields,
        position,
        destination,
        archiveEntry: leaf.archiveEntry,
        pathId: leaf.pathId === null ? null : String(leaf.pathId),
        format: leaf.format,
        parseStatus,
        carriedBy: carried === null ? null : { tier: carried.tier, unitId: carried.oldUnitId ?? unit.unitId },
      };
    });
  };
}
