import type { Database } from '../../../engine/database/sqlite-database.ts';

/** Pages of the text index that one step merges: a step takes some milliseconds. */
const PAGES_OF_STEP = 64;
/** Most steps of one index in one run; the next run continues. */
const MOST_STEPS = 10_000;

/**
 * Creates the upkeep of a file: it merges the parts of the text indexes that many small writes left, so that searches stay fast,
 * refreshes the statistics of the query planner, and writes the log back.
 *
 * @returns gives nothing after each step, so that the caller can do other work or stop. A stop loses nothing.
 *
 * Source: sqlite.org/fts5.html, "The 'merge' Command"; sqlite.org/pragma.html, optimize.
 */
export function createMaintenance(database: Database): () => Generator<void, void> {
  const changes = database.prepare('SELECT total_changes() AS changes');
  const changeCount = (): number => Number(changes.get()?.['changes']);
  return function* maintain() {
    for (const table of ['source_search', 'target_search']) {
      const merge = database.prepare(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`);
      // A negative number begins a merge even where the parts are few.
      let pages = -PAGES_OF_STEP;
      for (let step = 0; step < MOST_STEPS; step += 1) {
        const before = changeCount();
        merge.run(pages);
        if (changeCount() - before < 2) break;
        pages = PAGES_OF_STEP;
        yield;
      }
    }
    database.prepare('PRAGMA optimize').all();
    yield;
    database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
  };
}
