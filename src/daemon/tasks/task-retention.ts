import type { Database } from '../database/sqlite-database.ts';

const DAY_SECONDS = 86_400;
/** Newest tasks that stay whatever their age. */
const KEEP_NEWEST = 1000;
const KEEP_DAYS = 14;
const KEEP_FAILED_DAYS = 30;
/** Tasks removed in one transaction, so that others are not held up. */
const BATCH = 200;

/** Creates what removes ended tasks: all but the newest 1,000, those of 14 days, and failed ones of 30 days. */
export function createTaskRetention(database: Database): {
  /** @returns how many were removed, with their logs */
  readonly prune: (now: number) => number;
} {
  const remove = database.prepare(
    `DELETE FROM task WHERE seq IN (
       SELECT seq FROM task
       WHERE status IN ('succeeded', 'failed', 'cancelled')
         AND finished_at < CASE status WHEN 'failed' THEN :failed_before ELSE :before END
         AND seq <= coalesce((SELECT seq FROM task WHERE status IN ('succeeded', 'failed', 'cancelled')
                              ORDER BY seq DESC LIMIT 1 OFFSET ${KEEP_NEWEST}), 0)
       ORDER BY seq LIMIT ${BATCH})`,
  );
  return {
    prune: (now) => {
      let removed = 0;
      for (;;) {
        const { changes } = remove.run({
          before: now - KEEP_DAYS * DAY_SECONDS,
          failed_before: now - KEEP_FAILED_DAYS * DAY_SECONDS,
        });
        removed += Number(changes);
        if (Number(changes) < BATCH) return removed;
      }
    },
  };
}
