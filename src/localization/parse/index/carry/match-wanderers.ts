import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { Comparison, Side } from './comparison.ts';

/** The place of a unit that is left over and has a context that the other side may have. */
interface Wanderer {
  readonly context: Uint8Array;
  readonly position: number;
  readonly ordinal: number;
}

const STEP_ROWS = 1000;

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
    if (compared % STEP_ROWS === 0) yield;
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
    WHERE side = ? AND (position, ordinal) > (?, ?) ORDER BY position, ordinal LIMIT ${STEP_ROWS}`);
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
    isMore = found.length === STEP_ROWS;
    yield;
    yield* rows.drain();
  }
  yield* rows.flush();
}

/** Returns the collected units of one side, one by one, in the order of context and place. */
function createCursor(database: Database, side: Side): () => Wanderer | null {
  const columns = 'SELECT context, position, ordinal FROM wanderer WHERE side = ?';
  const order = `ORDER BY context, position, ordinal LIMIT ${STEP_ROWS}`;
  const first = database.prepare(`${columns} ${order}`);
  const next = database.prepare(`${columns} AND (context, position, ordinal) > (?, ?, ?) ${order}`);
  let page: Wanderer[] | null = null;
  let index = 0;
  return () => {
    if (page === null || (index === page.length && index === STEP_ROWS)) {
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
