import type { Work, WorkReader } from './work.ts';

/** Entries that the index takes at once. One by one, each would cost as much as seven in a batch. */
const BATCH = 1000;

const TAKE = `INSERT INTO target_search (rowid, text) SELECT entry, target_text FROM target_history
  WHERE entry > (SELECT entry FROM target_searched) AND entry <= ?`;
const TAKEN = 'UPDATE target_searched SET entry = ?';
const FOUND = 'SELECT rowid AS entry FROM target_search WHERE target_search MATCH ? LIMIT ?';
const LATER = 'SELECT entry FROM target_history WHERE entry > (SELECT entry FROM target_searched)';

/** Takes the texts of the history into the index when a batch of them is complete. @param entry the newest one */
export function indexWithBatch(work: Work, entry: number): void {
  if (entry % BATCH !== 0) return;
  work.sql(TAKE).run(entry);
  work.sql(TAKEN).run(entry);
}

/**
 * The entries of the history that may have a text, and those that the index does not have yet.
 *
 * @param expression of FTS5
 * @param most entries of the index
 * @returns `null` where the index has more
 */
export function entriesWith(work: WorkReader, expression: string, most: number): readonly number[] | null {
  const found = work.sql(FOUND).all(expression, most + 1);
  if (found.length > most) return null;
  return [...found, ...work.sql(LATER).all()].map(({ entry }) => Number(entry));
}
