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
