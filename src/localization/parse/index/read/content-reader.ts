import type { SQLOutputValue } from 'node:sqlite';
import type { Statement } from '../../../../engine/database/checked-rows.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { PartLocation } from '../../container/parsed-container.ts';
import type { FoundError } from '../index-rows.ts';

type Row = Record<string, SQLOutputValue>;

/** A run of units with one location. */
export interface StoredLeaf extends PartLocation {
  readonly firstOrdinal: number;
  readonly units: number;
}

export interface StoredUnit {
  readonly ordinal: number;
  readonly unitId: Uint8Array;
  readonly sourceDigest: Uint8Array;
  readonly fieldPath: string;
  readonly keyPath: string;
  readonly sourceText: string;
  readonly speaker: string | null;
  readonly scene: string | null;
}

/** Reads the stored text of single contents. Ranges of ordinals include both ends. */
export interface ContentReader {
  /** The units of a range with their leaves, read one by one. Only one such reading can be open at a time. */
  eachUnit(
    contentId: number,
    first: number,
    last: number,
  ): Iterable<{ readonly unit: StoredUnit; readonly leaf: StoredLeaf }>;
  unitIds(contentId: number, first: number, last: number): ReadonlyMap<number, Uint8Array>;
  ordinalsOf(contentId: number, first: number, last: number, fieldPath: string): Iterable<number>;
  /** Errors from a number on, at most `limit`. */
  errors(contentId: number, first: number, limit: number): FoundError[];
}

/** Columns of a location. SQLite has integers of 64 bits; as text they come out exactly. */
export const LOCATION_COLUMNS = 'archive_entry, CAST(path_id AS TEXT) AS path_id, class_id';

export function createContentReader(database: Database): ContentReader {
  const range = 'FROM unit WHERE content_id = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal';
  const units = database.prepare(`SELECT * ${range}`);
  const unitIds = database.prepare(`SELECT ordinal, unit_id ${range}`);
  const leaves = database.prepare(`SELECT first_ordinal, units, ${LOCATION_COLUMNS}, format FROM leaf
    WHERE content_id = ?1 AND first_ordinal <= ?3 AND first_ordinal >= coalesce(
      (SELECT max(first_ordinal) FROM leaf WHERE content_id = ?1 AND first_ordinal <= ?2), 0)
    ORDER BY first_ordinal`);
  const ordinals = database.prepare(
    'SELECT ordinal FROM unit WHERE content_id = ? AND ordinal BETWEEN ? AND ? AND field_path = ? ORDER BY ordinal',
  );
  const errors =
    database.prepare(`SELECT ${LOCATION_COLUMNS}, format, field_path, code, message, severity, first_seen
    FROM parse_error WHERE content_id = ? AND number >= ? ORDER BY number LIMIT ?`);
  return {
    eachUnit: function* eachUnit(contentId, first, last) {
      const found = all(leaves, leafOf, contentId, first, last);
      let at = 0;
      for (const row of units.iterate(contentId, first, last)) {
        const unit = unitOf(row);
        while (at + 1 < found.length && (found[at + 1]?.firstOrdinal ?? 0) <= unit.ordinal) at += 1;
        const leaf = found[at];
        if (leaf === undefined) return;
        yield { unit, leaf };
      }
    },
    unitIds: (contentId, first, last) =>
      new Map(
        unitIds
          .all(contentId, first, last)
          .map((row) => [Number(row['ordinal']), row['unit_id'] as Uint8Array]),
      ),
    ordinalsOf: (contentId, first, last, fieldPath) =>
      all(ordinals, (row) => Number(row['ordinal']), contentId, first, last, fieldPath),
    errors: (contentId, first, limit) => all(errors, errorOf, contentId, first, limit),
  };
}

function all<T>(statement: Statement, toValue: (row: Row) => T, ...values: (number | string)[]): T[] {
  return statement.all(...values).map((row) => toValue(row));
}

function unitOf(row: Row): StoredUnit {
  return {
    ordinal: Number(row['ordinal']),
    unitId: row['unit_id'] as Uint8Array,
    sourceDigest: row['source_digest'] as Uint8Array,
    fieldPath: String(row['field_path']),
    keyPath: String(row['key_path']),
    sourceText: String(row['source_text']),
    speaker: textOf(row['speaker']),
    scene: textOf(row['scene']),
  };
}

function leafOf(row: Row): StoredLeaf {
  return { ...locationOf(row), firstOrdinal: Number(row['first_ordinal']), units: Number(row['units']) };
}

function errorOf(row: Row): FoundError {
  return {
    ...locationOf(row),
    fieldPath: textOf(row['field_path']),
    code: String(row['code']),
    message: String(row['message']),
    severity: row['severity'] === 'warning' ? 'warning' : 'error',
    firstSeen: Number(row['first_seen']),
  };
}

/** The location in a row that has {@link LOCATION_COLUMNS} and a format. */
export function locationOf(row: Row): PartLocation {
  const pathId = textOf(row['path_id']);
  const classId = row['class_id'];
  return {
    archiveEntry: textOf(row['archive_entry']),
    pathId: pathId === null ? null : BigInt(pathId),
    classId: typeof classId === 'number' ? classId : null,
    format: String(row['format']),
  };
}

export function textOf(value: SQLOutputValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
