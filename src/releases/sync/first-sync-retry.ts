import type { ReleaseParts } from '../release-parts.ts';
import { backoffMs } from '../../platform/process/backoff.ts';
import { pause } from '../../platform/process/pause.ts';
import type { Task } from '../../engine/tasks/task.ts';
import { callOf } from '../../engine/tasks/job.ts';
import { SYNC_JOB } from '../jobs/release-jobs.ts';

interface FirstSyncRetry {
  /** When the next sync is queued, Unix seconds; `null` when none is planned. */
  plannedAt(): number | null;
  /** Plans the retry again that an earlier process had planned. Call it once the releases are known. */
  start(): void;
  stop(): void;
}

/** The wait between two syncs; each of them already made several attempts. */
const RETRY = { baseMs: 10_000, capMs: 300_000 } as const;

/**
 * Creates the retry; it follows the sync tasks from now on.
 *
 * @param isNeeded whether a retry can help: an upstream is configured, and there is no release yet
 */
export function createFirstSyncRetry(
  { engine, clock, random, logger }: ReleaseParts,
  isNeeded: () => boolean,
): FirstSyncRetry {
  let waiting = new AbortController();
  let plannedAt: number | null = null;

  const cancel = (): void => {
    waiting.abort();
    plannedAt = null;
  };

  const plan = async (failed: Task): Promise<void> => {
    const { consecutiveFailures } = engine.historyOf(SYNC_JOB.kind);
    const waitMs = backoffMs(consecutiveFailures, RETRY, random(), null);
    const { signal } = (waiting = new AbortController());
    plannedAt = Math.ceil((clock.now() + waitMs) / 1000);
    logger.warn(
      {
        task_id: failed.task_id,
        code: failed.failure_code,
        consecutive_failures: consecutiveFailures,
        retry_in_ms: waitMs,
      },
      `there is no release yet, and sync failed: ${failed.failure_reason ?? ''}; trying again`,
    );
    await pause(clock, waitMs, signal);
    if (signal.aborted) return;
    plannedAt = null;
    try {
      engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true });
    } catch (error) {
      logger.error({ err: error }, 'the sync could not be queued again; the next schedule tries');
    }
  };

  engine.onFinished((task) => {
    if (task.kind !== SYNC_JOB.kind) return;
    cancel();
    if (task.status === 'failed' && isNeeded()) void plan(task);
  });
  return {
    plannedAt: () => plannedAt,
    start: () => {
      const { last, nextRunAt } = engine.historyOf(SYNC_JOB.kind);
      if (last?.status === 'failed' && nextRunAt === null && plannedAt === null && isNeeded()) {
        void plan(last);
      }
    },
    stop: cancel,
  };
}
