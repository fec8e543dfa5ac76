import type { SQLOutputValue } from 'node:sqlite';
import { CARRY_TIERS } from '../../../contract/schemas/vocabulary.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { createColumnReader, type ReadColumns } from './column-reader.ts';
import { matchLeftovers, storeLeftoverRuns } from './leftovers.ts';
import { matchUnits, type UnitMatches } from './match-units.ts';
import { createRowBuffer, type RowBuffer } from './row-buffer.ts';
import { contextAt, NO_UNITS, unitIdAt, type UnitColumns } from './unit-columns.ts';

/** How many units of a release follow units of the previous one, and how; how many are new, and how many it lost. */
export interface CarryOverCounts {
  same: number;
  moved: number;
  unique: number;
  changed: number;
  new: number;
  removed: number;
}

/** A file of which the text is not as it was: the sides are of the previous release and of this one. */
interface ChangedContainer {
  readonly old: ContainerSide | null;
  readonly now: ContainerSide | null;
}

interface ContainerSide {
  readonly position: number;
  readonly contentId: number;
  readonly units: number;
}

/** The indexes whose units are compared. */
export interface ComparedIndexes {
  readonly indexId: number;
  readonly previousIndexId: number;
}

/**
 * Finds for every unit the one of the previous release that it follows, and stores the pairs. Files are compared by their keys, one at a
 * time; then units that are left over are compared across files. Pauses after bounded work, and may be begun again after a
 * crash.
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
  const rows = createRowBuffer(database);
  const readColumns = createColumnReader(database);
  for (const container of changedContainers(database, indexes)) {
    yield* compareContainer({ database, rows, readColumns, counts, indexId: indexes.indexId }, container);
  }
  yield* rows.flush();
  counts.moved += yield* matchLeftovers(database, rows, indexes.indexId);
  const left = yield* storeLeftoverRuns(database, rows, indexes.indexId);
  return { ...counts, ...left };
}

/** Removes what an interrupted carry-over stored. */
function* clear(database: Database, indexId: number): Generator<void, void> {
  database.prepare('DELETE FROM leftover').run();
  const remove = database.prepare(`DELETE FROM pair WHERE index_id = ?1 AND (side, position, first_ordinal) IN
    (SELECT side, position, first_ordinal FROM pair WHERE index_id = ?1 LIMIT 1000)`);
  while (remove.run(indexId).changes > 0) yield;
}

/** The units of files whose content is that of the previous release. */
function countUnchanged(database: Database, indexId: number): number {
  const row = database
    .prepare(
      `SELECT coalesce(sum(units), 0) AS units FROM container JOIN content USING (content_id)
      WHERE index_id = ? AND is_unchanged = 1`,
    )
    .get(indexId);
  return Number(row?.['units']);
}

/** Rows of one page of files. */
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

interface Comparison {
  readonly database: Database;
  readonly rows: RowBuffer;
  readonly readColumns: ReadColumns;
  readonly counts: CarryOverCounts;
  readonly indexId: number;
}

function* compareContainer(comparison: Comparison, { old, now }: ChangedContainer): Generator<void, void> {
  const { readColumns } = comparison;
  const oldUnits = old === null ? NO_UNITS : yield* readColumns(old.contentId, old.units);
  const newUnits = now === null ? NO_UNITS : yield* readColumns(now.contentId, now.units);
  const matches = yield* matchUnits(oldUnits, newUnits);
  if (old !== null && now !== null) {
    yield* storePairs(
      comparison,
      { old: oldUnits, oldPosition: old.position, position: now.position },
      matches,
    );
  }
  if (now !== null) {
    yield* storeLeftovers(comparison, 'new', now.position, newUnits, (o) => matches.oldOrdinals[o] === -1);
  }
  if (old !== null) {
    yield* storeLeftovers(comparison, 'old', old.position, oldUnits, (o) => matches.isTaken[o] === 0);
  }
}

/** Stores pairs: runs of `same` and of `changed`, whose ids are equal, and single rows of the others. */
function* storePairs(
  { database, rows, counts, indexId }: Comparison,
  { old, oldPosition, position }: { old: UnitColumns; oldPosition: number; position: number },
  { oldOrdinals, tiers }: UnitMatches,
): Generator<void, void> {
  const insert = database.prepare(`INSERT INTO pair VALUES (?, 'new', ?, ?, ?, ?, ?, ?, ?)`);
  for (let first = 0; first < oldOrdinals.length;) {
    const oldFirst = oldOrdinals[first] ?? -1;
    const tier = CARRY_TIERS[tiers[first] ?? 0] ?? 'same';
    const keepsId = tier === 'same' || tier === 'changed';
    const units = oldFirst !== -1 && keepsId ? runLength({ oldOrdinals, tiers }, first) : 1;
    if (oldFirst !== -1) {
      counts[tier] += units;
      const oldId = keepsId ? null : Buffer.from(unitIdAt(old, oldFirst), 'latin1');
      rows.add(insert, indexId, position, first, units, tier, oldPosition, oldFirst, oldId);
      yield* rows.drain();
    }
    first += units;
  }
}

/** How many units from one on follow consecutive old units in the same way. */
function runLength(
  { oldOrdinals, tiers }: Pick<UnitMatches, 'oldOrdinals' | 'tiers'>,
  first: number,
): number {
  const oldFirst = oldOrdinals[first] ?? -1;
  let units = 1;
  while (tiers[first + units] === tiers[first] && oldOrdinals[first + units] === oldFirst + units) units += 1;
  return units;
}

function* storeLeftovers(
  { database, rows }: Comparison,
  side: 'new' | 'old',
  position: number,
  units: UnitColumns,
  isLeft: (ordinal: number) => boolean,
): Generator<void, void> {
  const insert = database.prepare('INSERT INTO leftover VALUES (?, ?, ?, ?, ?)');
  for (let ordinal = 0; ordinal < units.count; ordinal += 1) {
    if (!isLeft(ordinal)) continue;
    const context = contextAt(units, ordinal);
    const unitId = Buffer.from(unitIdAt(units, ordinal), 'latin1');
    rows.add(
      insert,
      side,
      position,
      ordinal,
      context === null ? null : Buffer.from(context, 'latin1'),
      unitId,
    );
    yield* rows.drain();
  }
}
