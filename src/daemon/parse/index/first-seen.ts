import type { Database } from '../../database/sqlite-database.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { readReportedIndex } from './reported-index.ts';

/** The columns that make two errors of a file the same one. A message can hold offsets, so it does not count. */
const PLACE = ['archive_entry', 'CAST(path_id AS TEXT)', 'class_id', 'field_path', 'format', 'code'];
/** Files of one step. */
const STEP_FILES = 1000;

/**
 * Gives the errors of a release the time when the release that reports show had them first: parsing a file again finds the
 * same errors again.
 */
export function* keepFirstSeen(database: Database, clock: Clock, indexId: number): Generator<void, void> {
  const reported = readReportedIndex(database)?.indexId ?? null;
  database
    .prepare(
      `UPDATE container SET ambiguous_since = coalesce(
        (SELECT ambiguous_since FROM container AS old WHERE old.index_id = ?1 AND old.destination = container.destination), ?2)
      WHERE index_id = ?3 AND ambiguity IS NOT NULL`,
    )
    .run(reported, unixSeconds(clock), indexId);
  yield;
  if (reported === null) return;
  const page = database.prepare(`SELECT now.position, now.content_id AS now, old.content_id AS old
    FROM container AS now JOIN content USING (content_id)
    JOIN container AS old ON old.index_id = ? AND old.destination_key = now.destination_key
    WHERE now.index_id = ? AND now.position > ? AND content.errors + content.warnings > 0
      AND old.content_id <> now.content_id
    ORDER BY now.position LIMIT ${STEP_FILES}`);
  const copy = createCopy(database);
  for (let [last, isMore] = [-1, true]; isMore;) {
    const files = page.all(reported, indexId, last);
    for (const file of files) {
      last = Number(file['position']);
      copy(Number(file['old']), Number(file['now']));
      yield;
    }
    isMore = files.length === STEP_FILES;
  }
}

/** Gives the errors of one content the times of the same errors in another one. A content has a bounded number of errors. */
function createCopy(database: Database): (from: number, to: number) => void {
  const read = database.prepare(
    `SELECT number, json_array(${PLACE.join(', ')}) AS place, first_seen FROM parse_error WHERE content_id = ?`,
  );
  const update = database.prepare(
    'UPDATE parse_error SET first_seen = ? WHERE content_id = ? AND number = ? AND first_seen > ?',
  );
  return (from, to) => {
    const known = new Map<unknown, number>();
    for (const { place, first_seen: seen } of read.all(from)) {
      known.set(place, Math.min(Number(seen), known.get(place) ?? Infinity));
    }
    database.transaction(() => {
      for (const { number, place } of read.all(to)) {
        const seen = known.get(place);
        if (seen !== undefined) update.run(seen, to, Number(number), seen);
      }
    });
  };
}
