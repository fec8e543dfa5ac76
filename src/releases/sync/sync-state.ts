import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { KindHistory } from '../../engine/tasks/task-reads.ts';
import type { Task } from '../../engine/tasks/task.ts';

type SyncReport = ReportBodyOf<'release.status'>['sync'];

export interface SyncState {
  readonly report: SyncReport;
  /** When the first failure since the last success ended, Unix seconds; `null` while nothing failed. */
  readonly failingSince: number | null;
  /** The code of the last failed attempt of the sync that waits or runs; `null` when none failed. */
  readonly retriedCode: string | null;
  /** The free bytes that the last sync needed and did not find; `null` when it did not know them, or failed for another reason. */
  readonly missedBytes: number | null;
  /** The wait that upstream asked a running sync for: until when (Unix milliseconds), and why; `null` when none waits. */
  readonly wait: { readonly until: number; readonly why: string } | null;
}

/**
 * Combines the history of the sync tasks with the plan.
 *
 * @param wait the wait of a running sync
 * @param plannedAt when syncs that are not queued yet are planned, Unix seconds; `null` for none
 */
export function syncStateOf(
  history: KindHistory,
  wait: SyncState['wait'],
  ...plannedAt: readonly (number | null)[]
): SyncState {
  const planned = [history.nextRunAt, ...plannedAt].filter((at) => at !== null);
  return {
    report: {
      last: history.last === null ? null : endOf(history.last),
      next_at: planned.length === 0 ? null : Math.min(...planned),
      consecutive_failures: history.consecutiveFailures,
    },
    failingSince: history.failingSince,
    retriedCode: history.retriedCode,
    missedBytes: missedBytesOf(history.last),
    wait,
  };
}

function missedBytesOf(last: Task | null): number | null {
  if (last?.failure_code !== 'no_space') return null;
  const { needed_bytes: needed, reserve_bytes: reserve } = last.result ?? {};
  if (typeof needed !== 'number') return null;
  return needed + (typeof reserve === 'number' ? reserve : 0);
}

function endOf(task: Task): SyncReport['last'] {
  const { task_id, status, finished_at: finishedAt } = task;
  if (finishedAt === null) return null;
  const end = { task_id, finished_at: finishedAt, result: null, code: null, message: null };
  switch (status) {
    case 'succeeded':
      return { ...end, status, result: task.result?.['unchanged'] === true ? 'unchanged' : 'changed' };
    case 'failed':
      return { ...end, status, code: task.failure_code, message: task.failure_reason };
    case 'cancelled':
      return { ...end, status, message: task.cancel_reason };
    default:
      return null;
  }
}
