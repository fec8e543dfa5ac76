import type { TaskEnding, TaskRepository } from './task-writes.ts';
import type { Task } from './task.ts';
import { RESTARTED_REASON } from './task-outcome.ts';
import type { StoredTask } from './stored-task.ts';
import type { JobDefinition, JobRegistry } from './job.ts';

/** How often a task is resumed after the process died while it ran; beyond that, the task itself may be the cause. */
export const MAX_RECOVERIES = 20;

/**
 * Recovers the tasks that an earlier process left behind. Tasks that were asked to stop are cancelled, resumable tasks
 * are queued again under the same id, and the others fail. Queued tasks of a kind that this version does not know also
 * fail. Run it in one transaction.
 *
 * @param nowMs wall clock, Unix milliseconds
 * @returns the tasks that are now terminal
 */
export function recoverTasks(
  repository: TaskRepository,
  jobs: JobRegistry,
  bootId: string,
  nowMs: number,
): readonly Task[] {
  const now = Math.floor(nowMs / 1000);
  const ended: Task[] = [];
  for (const record of repository.leftRunning(bootId)) {
    const ending = endingOf(record, jobs.find(record.kind));
    if (ending !== null) {
      ended.push(repository.end(record.task_id, ending, now));
      continue;
    }
    repository.requeue(record.task_id, {
      runAtMs: nowMs,
      attemptCounts: false,
      recovered: true,
      failureCode: null,
      failureReason: null,
    });
  }
  for (const { task_id: taskId, kind } of repository.waiting()) {
    if (jobs.find(kind) !== null) continue;
    ended.push(
      repository.end(
        taskId,
        failed('unknown_kind', `This version of the daemon has no task of kind "${kind}".`),
        now,
      ),
    );
  }
  return ended;
}

/** How a task that was left running ends, or `null` when it is resumed. */
function endingOf(record: StoredTask, job: JobDefinition | null): TaskEnding | null {
  if (record.cancel_requested_at !== null) {
    return { status: 'cancelled', result: null, failureCode: null, failureReason: null };
  }
  if (job?.resumable !== true) return failed('daemon_restarted', RESTARTED_REASON);
  if (record.recoveries < MAX_RECOVERIES) return null;
  return failed(
    'daemon_restarted',
    `The daemon died ${MAX_RECOVERIES + 1} times while the task ran; see its log.`,
  );
}

function failed(failureCode: string, failureReason: string): TaskEnding {
  return { status: 'failed', result: null, failureCode, failureReason };
}
