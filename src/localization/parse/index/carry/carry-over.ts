import type { SQLOutputValue } from 'node:sqlite';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import {
  createRowBuffer,
  createStatementCache,
  type CarryOverCounts,
  type ChangedContainer,
  type ContainerSide,
  createContextFilter,
  type Comparison,
  type Side,
  storePairs,
} from './comparison.ts';
import {
  createColumnReader,
  contextAt,
  NO_UNITS,
  textAt,
  unitIdAt,
  type ContainerColumns,
} from './unit-columns.ts';
import { matchLeftovers, matchWanderers } from './match-leftovers.ts';
import { findSingles, matchExactly } from './match-units.ts';

interface ComparedIndexes {
  readonly indexId: number;
  readonly previousIndexId: number;
}

/**
 * Finds for every unit the one of the previous release that it follows, and stores the pairs. Tier by tier: `same` and `moved` in
 * each file, `moved` across files, then `unique` and `changed` in each file over the rest. One file is in memory at a time.
 * Pauses after bounded work, and may be begun again after a crash.
 */
export function* carryOver(database: Database, indexes: ComparedIndexes): Generator<void, CarryOverCounts> {
  yield* clear(database, indexes.indexId);
  const counts = {
    same: countUnchanged(database, indexes.indexId),
    moved: 0,
    unique: 0,
    changed: 0,
    new: 0,
    removed: 0,
  };
  yield;
  const comparison = {
    database,
    indexId: indexes.indexId,
    prepare: createStatementCache(database),
    rows: createRowBuffer(database),
    readColumns: createColumnReader(database),
    contexts: createContextFilter(),
    counts,
  };
  for (const container of changedContainers(database, indexes)) {
    yield* compareContainer(comparison, container);
  }
  yield* comparison.rows.flush();
  yield* matchWanderers(comparison);
  for (const container of changedContainers(database, indexes)) {
    yield* matchLeftovers(comparison, container);
  }
  yield* comparison.rows.flush();
  empty(database);
  return counts;
}

function* clear(database: Database, indexId: number): Generator<void, void> {
  empty(database);
  const remove = database.prepare(`DELETE FROM pair WHERE index_id = ?1 AND (side, position, first_ordinal) IN
    (SELECT side, position, first_ordinal FROM pair WHERE index_id = ?1 LIMIT 1000)`);
  while (remove.run(indexId).changes > 0) yield;
}

/** Empties the working tables. Without a condition SQLite frees the pages and reads no row. */
function empty(database: Database): void {
  database.prepare('DELETE FROM leftover').run();
  database.prepare('DELETE FROM wanderer').run();
}

function countUnchanged(database: Database, indexId: number): number {
  const row = database
    .prepare(
      `SELECT coalesce(sum(units), 0) AS units FROM container JOIN content USING (content_id)
      WHERE index_id = ? AND is_unchanged = 1`,
    )
    .get(indexId);
  return Number(row?.['units']);
}

const PAGE_FILES = 1000;

/**
 * The files to compare that have text on a side: those of this release in order, then those that it no longer has. The index
 * must say which files are unchanged.
 */
function* changedContainers(
  database: Database,
  { indexId, previousIndexId }: ComparedIndexes,
): Generator<ChangedContainer, void> {
  const side = (name: string): string =>
    `${name}.position AS ${name}_position, ${name}.content_id AS ${name}_content, ${name}_text.units AS ${name}_units`;
  const kept = database.prepare(`SELECT ${side('now')}, ${side('old')} FROM container AS now
    JOIN content AS now_text ON now_text.content_id = now.content_id
    LEFT JOIN container AS old ON old.index_id = ?2 AND old.destination_key = now.destination_key
    LEFT JOIN content AS old_text ON old_text.content_id = old.content_id
    WHERE now.index_id = ?1 AND now.is_unchanged = 0 AND now.position > ?3
      AND (now_text.units > 0 OR old_text.units > 0)
    ORDER BY now.position LIMIT ?4`);
  const removed = database.prepare(`SELECT ${side('old')} FROM container AS old
    JOIN content AS old_text ON old_text.content_id = old.content_id
    WHERE old.index_id = ?2 AND old.position > ?3 AND old_text.units > 0 AND NOT EXISTS
      (SELECT 1 FROM container AS now WHERE now.index_id = ?1 AND now.destination_key = old.destination_key)
    ORDER BY old.position LIMIT ?4`);
  for (const [page, order] of [
    [kept, 'now_position'],
    [removed, 'old_position'],
  ] as const) {
    let last = -1;
    for (let isMore = true; isMore;) {
      const rows = page.all(indexId, previousIndexId, last, PAGE_FILES);
      for (const row of rows) yield { old: sideOf(row, 'old'), now: sideOf(row, 'now') };
      last = Number(rows.at(-1)?.[order]);
      isMore = rows.length === PAGE_FILES;
    }
  }
}

function sideOf(row: Readonly<Record<string, SQLOutputValue>>, side: 'old' | 'now'): ContainerSide | null {
  const position = row[`${side}_position`] ?? null;
  if (position === null) return null;
  return {
    position: Number(position),
    contentId: Number(row[`${side}_content`]),
    units: Number(row[`${side}_units`]),
  };
}

/** Pairs the units of a file that stayed or moved within it, and stores the others as left over. */
function* compareContainer(comparison: Comparison, { old, now }: ChangedContainer): Generator<void, void> {
  const { readColumns } = comparison;
  const oldUnits = old === null ? NO_UNITS : yield* readColumns(old.contentId, old.units);
  const newUnits = now === null ? NO_UNITS : yield* readColumns(now.contentId, now.units);
  const matches = yield* matchExactly(oldUnits, newUnits);
  const singles = yield* findSingles(oldUnits, newUnits, matches);
  if (old !== null && now !== null) {
    const itself = (ordinal: number): number => ordinal;
    yield* storePairs(
      comparison,
      { columns: oldUnits, position: old.position, ordinalOf: itself },
      { columns: newUnits, position: now.position, ordinalOf: itself },
      matches,
    );
  }
  if (now !== null) {
    const isLeft = (ordinal: number): boolean => matches.oldUnits[ordinal] === -1;
    yield* storeLeftovers(comparison, {
      side: 'new',
      ...now,
      columns: newUnits,
      isLeft,
      isSingle: singles.now,
    });
  }
  if (old !== null) {
    const isLeft = (ordinal: number): boolean => matches.isTaken[ordinal] === 0;
    yield* storeLeftovers(comparison, {
      side: 'old',
      ...old,
      columns: oldUnits,
      isLeft,
      isSingle: singles.old,
    });
  }
}

function* storeLeftovers(
  { prepare, rows, contexts }: Comparison,
  {
    side,
    position,
    columns,
    isLeft,
    isSingle,
  }: {
    readonly side: Side;
    readonly position: number;
    readonly columns: ContainerColumns;
    readonly isLeft: (ordinal: number) => boolean;
    readonly isSingle: Uint8Array;
  },
): Generator<void, void> {
  const insert = prepare('INSERT INTO leftover VALUES (?, ?, ?, ?, ?, ?)');
  for (let ordinal = 0; ordinal < columns.count; ordinal += 1) {
    if (!isLeft(ordinal)) continue;
    const unitId = Buffer.from(unitIdAt(columns, ordinal), 'latin1');
    const singleText = isSingle[ordinal] === 1 ? Buffer.from(textAt(columns, ordinal), 'latin1') : null;
    const found = contextAt(columns, ordinal);
    const context = found === null ? null : Buffer.from(found, 'latin1');
    if (context !== null) contexts.add(side, context);
    rows.add(insert, side, position, ordinal, unitId, singleText, context);
    yield* rows.drain();
  }
}
