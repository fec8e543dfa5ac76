import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { unixSeconds, type Clock } from '../../../../platform/process/clock.ts';
import { carryOver } from '../carry/carry-over.ts';
import { FOUND_ERRORS } from '../index-database.ts';
import { readReportedIndex, type IndexTotals, type ReportedIndex } from '../read/reported-index.ts';

const STEP_FILES = 1000;

/**
 * Completes the indexing of a release: carries units over from the release that reports show, then makes reports show this
 * one. Pauses after bounded work; after a crash it is called again.
 *
 * @throws RangeError when the release is not being indexed or a file has no content yet
 */
export function* completeRelease(
  database: Database,
  clock: Clock,
  indexId: number,
): Generator<void, ReportedIndex> {
  const releaseId = checkComplete(database, indexId);
  const previous = choosePrevious(database, indexId, releaseId);
  yield* describeFiles(database, indexId, previous?.indexId ?? null);
  yield* keepFirstSeen(database, clock, indexId);
  const counts =
    previous === null ? null : yield* carryOver(database, { indexId, previousIndexId: previous.indexId });
  const totals: IndexTotals = {
    ...readTotals(database, indexId),
    carry_over:
      counts === null || previous === null ? null : { previous_release_id: previous.releaseId, ...counts },
  };
  return database.transaction(() => {
    checkComplete(database, indexId);
    const last = Number(
      database.prepare('SELECT max(generation) AS last FROM release_index').get()?.['last'],
    );
    const now = unixSeconds(clock);
    // Beginning at the time makes the generations of an index that was built again larger than those of the lost one.
    database
      .prepare(
        `UPDATE release_index SET state = 'complete', generation = ?, indexed_at = ?, totals = ? WHERE index_id = ?`,
      )
      .run(Math.max(last + 1, now), now, JSON.stringify(totals), indexId);
    database
      .prepare(
        `UPDATE release_index SET state = 'dropped' WHERE state = 'complete' AND release_id = ? AND index_id <> ?`,
      )
      .run(releaseId, indexId);
    const reported = readReportedIndex(database);
    if (reported === null) throw new Error(`the index ${indexId} is not there after it was completed`);
    return reported;
  });
}

function checkComplete(database: Database, indexId: number): string {
  const row = database
    .prepare(
      `SELECT release_id, (SELECT count(*) FROM container WHERE index_id = ?1 AND content_id IS NULL) AS missing
      FROM release_index WHERE index_id = ?1 AND state = 'indexing'`,
    )
    .get(indexId);
  if (row === undefined) throw new RangeError(`index ${indexId} is not being built`);
  if (row['missing'] !== 0) {
    throw new RangeError(
      `${String(row['missing'])} files of release ${String(row['release_id'])} are not parsed yet`,
    );
  }
  return String(row['release_id']);
}

/** Stores for each file how many units the files before it have, and whether its content is that of the previous release. */
function* describeFiles(
  database: Database,
  indexId: number,
  previousIndexId: number | null,
): Generator<void, void> {
  const page = database.prepare(`SELECT position, units, EXISTS (SELECT 1 FROM container AS previous
      WHERE previous.index_id = ?2 AND previous.destination_key = container.destination_key
        AND previous.content_id = container.content_id) AS is_unchanged
    FROM container JOIN content USING (content_id)
    WHERE index_id = ?1 AND position BETWEEN ?3 AND ?4 ORDER BY position`);
  const update = database.prepare(
    'UPDATE container SET units_before = ?, is_unchanged = ? WHERE index_id = ? AND position = ?',
  );
  let before = 0;
  for (let first = 0, isMore = true; isMore; first += STEP_FILES) {
    const rows = page.all(indexId, previousIndexId, first, first + STEP_FILES - 1);
    database.transaction(() => {
      for (const row of rows) {
        update.run(before, Number(row['is_unchanged']), indexId, Number(row['position']));
        before += Number(row['units']);
      }
    });
    isMore = rows.length === STEP_FILES;
    yield;
  }
}

/** The release that units are carried over from: the reported one, or its previous one when this release is indexed again. */
function choosePrevious(
  database: Database,
  indexId: number,
  releaseId: string,
): { readonly indexId: number; readonly releaseId: string } | null {
  const reported = readReportedIndex(database);
  if (reported === null) return null;
  const previousId = reported.releaseId === releaseId ? reported.previousIndexId : reported.indexId;
  const row =
    previousId === null
      ? undefined
      : database
          .prepare(`SELECT release_id FROM release_index WHERE index_id = ? AND state = 'complete'`)
          .get(previousId);
  if (row === undefined || previousId === null) return null;
  // The row keeps the previous release from being dropped meanwhile.
  database
    .prepare('UPDATE release_index SET previous_index_id = ? WHERE index_id = ?')
    .run(previousId, indexId);
  return { indexId: previousId, releaseId: String(row['release_id']) };
}

function readTotals(database: Database, indexId: number): Omit<IndexTotals, 'carry_over'> {
  const files = 'container JOIN content USING (content_id)';
  const counts = (key: string, value: string, from: string): Record<string, number> =>
    Object.fromEntries(
      database
        .prepare(
          `SELECT ${key} AS key, ${value} AS value FROM ${from} WHERE index_id = ? AND key IS NOT NULL GROUP BY 1 ORDER BY 1`,
        )
        .all(indexId)
        .map(({ key, value }) => [String(key), Number(value)]),
    );
  const sums = database
    .prepare(
      `SELECT count(*) AS containers, total(units) AS units, total(errors) AS errors,
        total(warnings) + count(ambiguity) AS warnings, total(seconds) AS seconds,
        total(bytes) AS bytes FROM ${files} WHERE index_id = ?`,
    )
    .get(indexId);
  return {
    containers: Number(sums?.['containers']),
    by_parse_status: counts('parse_status', 'count(*)', files),
    by_format: counts('content.format', 'count(*)', files),
    units: Number(sums?.['units']),
    errors: Number(sums?.['errors']),
    warnings: Number(sums?.['warnings']),
    errors_by_code: counts('code', 'count(*)', FOUND_ERRORS),
    skipped: counts('each.key', 'sum(each.value)', `${files}, json_each(content.skipped) AS each`),
    seconds: Number(sums?.['seconds']),
    bytes: Number(sums?.['bytes']),
  };
}

/** The columns that make two errors of a file the same one. A message can hold offsets, so it does not count. */
const PLACE = ['archive_entry', 'CAST(path_id AS TEXT)', 'class_id', 'field_path', 'format', 'code'];

/**
 * Sets the times of the errors of a release to those at which the release that reports show first had them: parsing a file again finds the
 * same errors again.
 */
function* keepFirstSeen(database: Database, clock: Clock, indexId: number): Generator<void, void> {
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
