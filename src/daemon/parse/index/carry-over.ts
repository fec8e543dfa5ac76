import type { Database } from '../../database/sqlite-database.ts';
import { compareContainer, type ChangedContainer, type ContainerSide } from './compare-container.ts';
import { createColumnReader } from './column-reader.ts';
import { createContextFilter } from './context-filter.ts';
import { matchLeftovers } from './match-leftovers.ts';
import { matchWanderers } from './match-wanderers.ts';
import { createRowBuffer } from './row-buffer.ts';

/** How many units of a release follow units of the previous one, and how; how many are new, and how many it lost. */
export interface CarryOverCounts {
  same: number;
  moved: number;
  unique: number;
  changed: number;
  new: number;
  removed: number;
}

/** The indexes whose units are compared. */
export interface ComparedIndexes {
  readonly indexId: number;
  readonly previousIndexId: number;
}

/**
 * Finds for every unit the one of the previous release that it follows, and stores the pairs. Tier by tier: `same` and `moved` in
 * each file, `moved` across files, then `unique` and `changed` in each file over what is left. One file is in memory at a time.
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
  const containers = changedContainers(database, indexes);
  const comparison = {
    database,
    indexId: indexes.indexId,
    rows: createRowBuffer(database),
    readColumns: createColumnReader(database),
    contexts: createContextFilter(),
    counts,
  };
  for (const container of containers) yield* compareContainer(comparison, container);
  yield* comparison.rows.flush();
  yield* matchWanderers(comparison);
  for (const container of containers) yield* matchLeftovers(comparison, container);
  yield* comparison.rows.flush();
  empty(database);
  return counts;
}

/** Removes what an interrupted carry-over stored. */
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

/** The files to compare: those of this release in order, then those that it no longer has. */
function changedContainers(
  database: Database,
  { indexId, previousIndexId }: ComparedIndexes,
): ChangedContainer[] {
  const statement = database.prepare(`SELECT position, container.destination_key, content_id, units
    FROM container JOIN content USING (content_id) WHERE index_id = ? ORDER BY position`);
  const sidesOf = (id: number): [string, ContainerSide][] =>
    statement.all(id).map((row) => [
      String(row['destination_key']),
      {
        position: Number(row['position']),
        contentId: Number(row['content_id']),
        units: Number(row['units']),
      },
    ]);
  const olds = new Map(sidesOf(previousIndexId));
  const containers: ChangedContainer[] = [];
  for (const [key, now] of sidesOf(indexId)) {
    const old = olds.get(key) ?? null;
    olds.delete(key);
    if (old?.contentId !== now.contentId) containers.push({ old, now });
  }
  for (const old of olds.values()) containers.push({ old, now: null });
  return containers.filter(({ old, now }) => (old?.units ?? 0) + (now?.units ?? 0) > 0);
}
