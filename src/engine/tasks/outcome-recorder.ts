import type { TaskEnding, TaskRepository } from './task-writes.ts';
import type { TaskOutcome } from './task-outcome.ts';
import type { TaskContext, Task } from './task.ts';

/**
 * Writes the outcome of a task.
 *
 * @param nowMs wall clock, Unix milliseconds
 * @returns the task when it is now terminal, `null` when it is queued again
 */
export function recordOutcome(
  repository: TaskRepository,
  taskId: string,
  outcome: TaskOutcome,
  nowMs: number,
): Task | null {
  if (outcome.next === 'retried' || outcome.next === 'waiting' || outcome.next === 'resumed') {
    const failed = outcome.next === 'resumed' ? null : outcome;
    repository.requeue(taskId, {
      runAtMs: nowMs + (failed?.delayMs ?? 0),
      attemptCounts: outcome.next === 'retried',
      recovered: false,
      failureCode: failed?.code ?? null,
      failureReason: failed?.reason ?? null,
    });
    return null;
  }
  return repository.end(taskId, endingOf(outcome), Math.floor(nowMs / 1000));
}

/** Adds the end of a run to the task's log. */
export function logOutcome(context: TaskContext, task: Task, outcome: TaskOutcome): void {
  switch (outcome.next) {
    case 'succeeded':
      context.log('info', `${task.kind} succeeded`);
      break;
    case 'cancelled':
      context.log('info', `${task.kind} was cancelled`);
      break;
    case 'resumed':
      context.log('info', `${task.kind} was interrupted; it is resumed when the daemon starts again`);
      break;
    case 'retried':
      context.log('warn', `attempt ${task.attempt} of ${task.max_attempts} failed: ${outcome.reason}`, {
        code: outcome.code,
        retry_in_ms: outcome.delayMs,
      });
      break;
    case 'waiting':
      context.log('info', `${task.kind} waits: ${outcome.reason}`, {
        code: outcome.code,
        retry_in_ms: outcome.delayMs,
      });
      break;
    case 'failed':
      context.log('error', `${task.kind} failed: ${outcome.reason}`, { code: outcome.code });
      break;
  }
}

function endingOf(outcome: Extract<TaskOutcome, { next: 'succeeded' | 'failed' | 'cancelled' }>): TaskEnding {
  switch (outcome.next) {
    case 'succeeded':
      return { status: 'succeeded', result: outcome.result, failureCode: null, failureReason: null };
    case 'failed':
      return {
        status: 'failed',
        result: outcome.details,
        failureCode: outcome.code,
        failureReason: outcome.reason,
      };
    case 'cancelled':
      return { status: 'cancelled', result: null, failureCode: null, failureReason: null };
  }
}
