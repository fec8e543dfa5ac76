import type { Database } from '../../database/sqlite-database.ts';
import type { RowBuffer } from './row-buffer.ts';

type Side = 'new' | 'old';

/** A unit that no unit of its own file was paired with. */
interface Leftover {
  /** Its text and its neighbours' texts. */
  readonly context: Uint8Array;
  readonly position: number;
  readonly ordinal: number;
  readonly unitId: Uint8Array;
}

/** Rows that are read in one step. */
const STEP_ROWS = 1000;

/**
 * Pairs units that moved from one file to another: those with the same context, in order.
 *
 * @returns how many were paired
 */
export function* matchLeftovers(
  database: Database,
  rows: RowBuffer,
  indexId: number,
): Generator<void, number> {
  const insert = database.prepare(`INSERT INTO pair VALUES (?, 'new', ?, ?, 1, 'moved', ?, ?, ?)`);
  const remove = database.prepare('DELETE FROM leftover WHERE side = ? AND position = ? AND ordinal = ?');
  const olds = createCursor(database, 'old');
  const news = createCursor(database, 'new');
  let paired = 0;
  let compared = 0;
  let [old, now] = [olds(), news()];
  while (old !== null && now !== null) {
    compared += 1;
    if (compared % STEP_ROWS === 0) yield;
    const order = Buffer.compare(old.context, now.context);
    if (order === 0) {
      rows.add(insert, indexId, now.position, now.ordinal, old.position, old.ordinal, old.unitId);
      rows.add(remove, 'new', now.position, now.ordinal);
      rows.add(remove, 'old', old.position, old.ordinal);
      yield* rows.drain();
      paired += 1;
    }
    if (order <= 0) old = olds();
    if (order >= 0) now = news();
  }
  yield* rows.flush();
  return paired;
}

/** Gives the leftovers of one side that have a context, in the order of context and place. */
function createCursor(database: Database, side: Side): () => Leftover | null {
  const columns = `context, position, ordinal, unit_id FROM leftover WHERE side = ? AND context IS NOT NULL`;
  const order = `ORDER BY context, position, ordinal LIMIT ${STEP_ROWS}`;
  const first = database.prepare(`SELECT ${columns} ${order}`);
  const next = database.prepare(`SELECT ${columns} AND (context, position, ordinal) > (?, ?, ?) ${order}`);
  let page: Leftover[] | null = null;
  let index = 0;
  return () => {
    if (page === null || (index === page.length && index === STEP_ROWS)) {
      const last: Leftover | undefined = page?.at(-1);
      const found =
        last === undefined ? first.all(side) : next.all(side, last.context, last.position, last.ordinal);
      page = found.map((row) => ({
        context: row['context'] as Uint8Array,
        position: Number(row['position']),
        ordinal: Number(row['ordinal']),
        unitId: row['unit_id'] as Uint8Array,
      }));
      index = 0;
    }
    const row = page[index] ?? null;
    if (row !== null) index += 1;
    return row;
  };
}

/** Stores the units that are new and those that were removed, in runs, and empties the working table. */
export function* storeLeftoverRuns(
  database: Database,
  rows: RowBuffer,
  indexId: number,
): Generator<void, { new: number; removed: number }> {
  const counts = {
    new: yield* storeRuns(database, rows, indexId, 'new'),
    removed: yield* storeRuns(database, rows, indexId, 'old'),
  };
  database.prepare('DELETE FROM leftover').run();
  return counts;
}

function* storeRuns(
  database: Database,
  rows: RowBuffer,
  indexId: number,
  side: Side,
): Generator<void, number> {
  const insert = database.prepare(`INSERT INTO pair VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)`);
  const page = database.prepare(`SELECT position, ordinal FROM leftover
    WHERE side = ? AND (position, ordinal) > (?, ?) ORDER BY position, ordinal LIMIT ${STEP_ROWS}`);
  const tier = side === 'new' ? 'new' : 'removed';
  let count = 0;
  let run = { position: -1, first: -1, units: 0 };
  const store = (): void => {
    if (run.units > 0) rows.add(insert, indexId, side, run.position, run.first, run.units, tier);
  };
  for (let [lastPosition, lastOrdinal, isMore] = [-1, -1, true]; isMore;) {
    const found = page.all(side, lastPosition, lastOrdinal);
    for (const row of found) {
      [lastPosition, lastOrdinal] = [Number(row['position']), Number(row['ordinal'])];
      if (lastPosition === run.position && lastOrdinal === run.first + run.units) {
        run.units += 1;
      } else {
        store();
        run = { position: lastPosition, first: lastOrdinal, units: 1 };
      }
      count += 1;
    }
    isMore = found.length === STEP_ROWS;
    yield;
    yield* rows.drain();
  }
  store();
  yield* rows.flush();
  return count;
}
