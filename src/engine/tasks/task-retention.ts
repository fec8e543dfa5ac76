import type { Logger } from '../../platform/logging/logging.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { IdempotencyRepository } from './idempotency-repository.ts';
import { IDEMPOTENCY_SECONDS } from './task-acceptance.ts';

const DAY_SECONDS = 86_400;
const PRUNE_INTERVAL_MS = 3_600_000;
/** Number of newest tasks that are kept at any age. */
const KEEP_NEWEST = 1000;
const KEEP_DAYS = 14;
const KEEP_FAILED_DAYS = 30;
/** Tasks removed in one transaction; the limit keeps other writes from waiting long. */
const BATCH = 200;

/**
 * Creates the loop that removes ended tasks with their logs at its start and once an hour. It keeps the newest 1,000, all
 * tasks for 14 days, and failed ones for 30 days. It also removes old idempotency keys.
 */
export function createTaskRetention(options: {
  readonly database: Database;
  readonly idempotency: IdempotencyRepository;
  readonly clock: Clock;
  readonly logger: Logger;
}): Loop {
  const { clock, logger } = options;
  const prune = createPrune(options.database);
  return createLoop({
    clock,
    turn: () => {
      const now = unixSeconds(clock);
      options.idempotency.forgetBefore(now - IDEMPOTENCY_SECONDS);
      const removed = prune(now);
      if (removed > 0) logger.info({ removed }, 'old tasks were removed');
      return PRUNE_INTERVAL_MS;
    },
    onFailure: (error) => {
      logger.error({ err: error }, 'old tasks could not be removed');
      return PRUNE_INTERVAL_MS;
    },
  });
}

/** Creates the function that removes old tasks and returns their number. */
function createPrune(database: Database): (now: number) => number {
  const remove = database.prepare(
    `DELETE FROM task WHERE seq IN (
       SELECT seq FROM task
       WHERE status IN ('succeeded', 'failed', 'cancelled')
         AND finished_at < CASE status WHEN 'failed' THEN :failed_before ELSE :before END
         AND seq <= coalesce((SELECT seq FROM task WHERE status IN ('succeeded', 'failed', 'cancelled')
                              ORDER BY seq DESC LIMIT 1 OFFSET ${KEEP_NEWEST}), 0)
       ORDER BY seq LIMIT ${BATCH})`,
  );
  return (now) => {
    let removed = 0;
    for (;;) {
      const { changes } = remove.run({
        before: now - KEEP_DAYS * DAY_SECONDS,
        failed_before: now - KEEP_FAILED_DAYS * DAY_SECONDS,
      });
      removed += Number(changes);
      if (Number(changes) < BATCH) return removed;
    }
  };
}
