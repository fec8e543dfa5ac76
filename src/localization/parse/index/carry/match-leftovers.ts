import {
  type ChangedContainer,
  type Comparison,
  type ContainerSide,
  type Side,
  storePairs,
} from './comparison.ts';
import { matchLoosely, noMatches } from './match-units.ts';
import { UNIT_ID_BYTES } from '../../container/parsed-container.ts';
import { TEXT_BYTES, type UnitColumns } from './unit-columns.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';

const STEP_ROWS = 5000;

interface LeftColumns extends UnitColumns {
  count: number;
  readonly ordinals: Int32Array;
  /** 1 for a unit whose text occurs once in the file on both sides. */
  readonly isSingle: Uint8Array;
}

/** Pairs the units of a file that are left over: `unique`, then `changed`. The others are new or were removed. */
export function* matchLeftovers(
  comparison: Comparison,
  { old, now }: ChangedContainer,
): Generator<void, void> {
  const oldUnits = yield* readLeftovers(comparison, 'old', old);
  const newUnits = yield* readLeftovers(comparison, 'new', now);
  const matches = noMatches(oldUnits, newUnits);
  yield* matchLoosely(oldUnits, newUnits, { old: oldUnits.isSingle, now: newUnits.isSingle }, matches);
  if (old !== null && now !== null) {
    const sideOf = ({ position }: ContainerSide, columns: LeftColumns) => ({
      columns,
      position,
      ordinalOf: (unit: number): number => columns.ordinals[unit] ?? -1,
    });
    yield* storePairs(comparison, sideOf(old, oldUnits), sideOf(now, newUnits), matches);
  }
  const { counts } = comparison;
  if (now !== null) {
    const isLeft = (unit: number): boolean => matches.oldUnits[unit] === -1;
    counts.new += yield* storeRuns(comparison, 'new', now.position, newUnits, isLeft);
  }
  if (old !== null) {
    const isLeft = (unit: number): boolean => matches.isTaken[unit] === 0;
    counts.removed += yield* storeRuns(comparison, 'old', old.position, oldUnits, isLeft);
  }
}

function* readLeftovers(
  { prepare }: Comparison,
  side: Side,
  container: ContainerSide | null,
): Generator<void, LeftColumns> {
  const condition = 'side = ? AND position = ? AND ordinal > ?';
  const position = container?.position ?? -1;
  const found = prepare(`SELECT count(*) AS units FROM leftover WHERE ${condition}`);
  const units = Number(found.get(side, position, -1)?.['units']);
  const columns: LeftColumns = {
    count: 0,
    ordinals: new Int32Array(units),
    unitIds: Buffer.alloc(units * UNIT_ID_BYTES),
    texts: Buffer.alloc(units * TEXT_BYTES),
    isSingle: new Uint8Array(units),
  };
  const page = prepare(
    `SELECT ordinal, unit_id, single_text FROM leftover WHERE ${condition} ORDER BY ordinal LIMIT ${STEP_ROWS}`,
  );
  while (columns.count < units) {
    const last = columns.count === 0 ? -1 : (columns.ordinals[columns.count - 1] ?? -1);
    for (const row of page.iterate(side, position, last)) {
      const unit = columns.count;
      const text = row['single_text'] as Uint8Array | null;
      columns.ordinals[unit] = Number(row['ordinal']);
      columns.unitIds.set(row['unit_id'] as Uint8Array, unit * UNIT_ID_BYTES);
      if (text !== null) columns.texts.set(text, unit * TEXT_BYTES);
      columns.isSingle[unit] = Number(text !== null);
      columns.count += 1;
    }
    yield;
  }
  return columns;
}

function* storeRuns(
  { prepare, rows, indexId }: Comparison,
  side: Side,
  position: number,
  { ordinals, count }: LeftColumns,
  isLeft: (unit: number) => boolean,
): Generator<void, number> {
  const insert = prepare(`INSERT INTO pair VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)`);
  const tier = side === 'new' ? 'new' : 'removed';
  let total = 0;
  for (let first = 0; first < count;) {
    let units = 0;
    const ordinal = ordinals[first] ?? -1;
    while (first + units < count && isLeft(first + units) && ordinals[first + units] === ordinal + units) {
      units += 1;
    }
    if (units > 0) rows.add(insert, indexId, side, position, ordinal, units, tier);
    yield* rows.drain();
    total += units;
    first += Math.max(units, 1);
  }
  return total;
}

/** The place of a unit that is left over and has a context that the other side may have. */
interface Wanderer {
  readonly context: Uint8Array;
  readonly position: number;
  readonly ordinal: number;
}

const WANDERER_ROWS = 1000;

/** Pairs units that moved from one file to another: those that are left over with the same context, in order. */
export function* matchWanderers(comparison: Comparison): Generator<void, void> {
  yield* collect(comparison, 'new', 'old');
  yield* collect(comparison, 'old', 'new');
  const { database, rows, counts, indexId } = comparison;
  const insert = database.prepare(`INSERT INTO pair VALUES (?1, 'new', ?2, ?3, 1, 'moved', ?4, ?5,
    (SELECT unit_id FROM leftover WHERE side = 'old' AND position = ?4 AND ordinal = ?5))`);
  const remove = database.prepare('DELETE FROM leftover WHERE side = ? AND position = ? AND ordinal = ?');
  const olds = createCursor(database, 'old');
  const news = createCursor(database, 'new');
  let compared = 0;
  let [old, now] = [olds(), news()];
  while (old !== null && now !== null) {
    compared += 1;
    if (compared % WANDERER_ROWS === 0) yield;
    const order = Buffer.compare(old.context, now.context);
    if (order === 0) {
      rows.add(insert, indexId, now.position, now.ordinal, old.position, old.ordinal);
      rows.add(remove, 'new', now.position, now.ordinal);
      rows.add(remove, 'old', old.position, old.ordinal);
      yield* rows.drain();
      counts.moved += 1;
    }
    if (order <= 0) old = olds();
    if (order >= 0) now = news();
  }
  yield* rows.flush();
}

/**
 * Copies the units of one side that the other side may have into a table that is sorted by context. To sort all units
 * would write to the disk many times what they take: their contexts are random.
 */
function* collect({ database, rows, contexts }: Comparison, side: Side, other: Side): Generator<void, void> {
  const page = database.prepare(`SELECT position, ordinal, context FROM leftover
    WHERE side = ? AND (position, ordinal) > (?, ?) ORDER BY position, ordinal LIMIT ${WANDERER_ROWS}`);
  const insert = database.prepare('INSERT INTO wanderer VALUES (?, ?, ?, ?)');
  for (let [lastPosition, lastOrdinal, isMore] = [-1, -1, true]; isMore;) {
    const found = page.all(side, lastPosition, lastOrdinal);
    for (const row of found) {
      [lastPosition, lastOrdinal] = [Number(row['position']), Number(row['ordinal'])];
      const context = row['context'] as Uint8Array | null;
      if (context !== null && contexts.mayHave(other, context)) {
        rows.add(insert, side, context, lastPosition, lastOrdinal);
      }
    }
    isMore = found.length === WANDERER_ROWS;
    yield;
    yield* rows.drain();
  }
  yield* rows.flush();
}

/** Returns the collected units of one side, one by one, in the order of context and place. */
function createCursor(database: Database, side: Side): () => Wanderer | null {
  const columns = 'SELECT context, position, ordinal FROM wanderer WHERE side = ?';
  const order = `ORDER BY context, position, ordinal LIMIT ${WANDERER_ROWS}`;
  const first = database.prepare(`${columns} ${order}`);
  const next = database.prepare(`${columns} AND (context, position, ordinal) > (?, ?, ?) ${order}`);
  let page: Wanderer[] | null = null;
  let index = 0;
  return () => {
    if (page === null || (index === page.length && index === WANDERER_ROWS)) {
      const last: Wanderer | undefined = page?.at(-1);
      const found =
        last === undefined ? first.all(side) : next.all(side, last.context, last.position, last.ordinal);
      page = found.map((row) => ({
        context: row['context'] as Uint8Array,
        position: Number(row['position']),
        ordinal: Number(row['ordinal']),
      }));
      index = 0;
    }
    const row = page[index] ?? null;
    if (row !== null) index += 1;
    return row;
  };
}
