import { backoffMs, type BackoffOptions } from '../../platform/process/backoff.ts';
import { storageTaskError } from './storage-task-error.ts';
import { TaskError, type TaskResult } from './task.ts';

/** How a run ended: with a result of the handler, or with an error. */
export type RunEnd =
  | { readonly returned: TaskResult }
  | {
      readonly thrown: unknown;
      /** Whether the handler threw the error because its signal was aborted. */
      readonly byAbort: boolean;
    };

/** The next state of the task. */
export type TaskOutcome =
  | { readonly next: 'succeeded'; readonly result: TaskResult }
  | {
      readonly next: 'failed';
      readonly code: string;
      readonly reason: string;
      readonly details: TaskResult | null;
    }
  | { readonly next: 'cancelled' }
  /** Queued again after a wait, because a retry can help. */
  | { readonly next: 'retried'; readonly delayMs: number; readonly code: string; readonly reason: string }
  /** Queued again after a wait, and without counting the attempt: other tasks must end first. */
  | { readonly next: 'waiting'; readonly delayMs: number; readonly code: string; readonly reason: string }
  /** Queued again without a wait, and without counting the attempt: the daemon stopped during the run. */
  | { readonly next: 'resumed' };

/** Time between two looks whether the tasks that another one waits for have ended. */
export const WAITING_MS = 3000;

/** The reason that users see for a failure without a code. */
export const INTERNAL_REASON =
  "Something failed inside the daemon; its log has the details under the task's id.";

/** The reason that users see for a task that a stopped or killed daemon left behind. */
export const RESTARTED_REASON = 'The daemon stopped while the task ran; start the task again.';

/**
 * Decides the next state of a task whose handler ended. The actual end counts, even after a request to stop: a result
 * is a success, an expected failure is a failure, and only an error caused by the aborted signal is a cancellation.
 */
export function decideOutcome(
  end: RunEnd,
  situation: {
    readonly cancelRequested: boolean;
    readonly attempt: number;
    readonly maxAttempts: number;
    readonly resumable: boolean;
    readonly backoff: BackoffOptions;
    /** In [0, 1). */
    readonly random: number;
  },
): TaskOutcome {
  if ('returned' in end) return { next: 'succeeded', result: end.returned };
  if (end.byAbort) {
    if (situation.cancelRequested) return { next: 'cancelled' };
    if (situation.resumable) return { next: 'resumed' };
    return { next: 'failed', code: 'daemon_restarted', reason: RESTARTED_REASON, details: null };
  }
  const failure = end.thrown instanceof TaskError ? end.thrown : storageTaskError(end.thrown);
  if (failure === null) {
    return { next: 'failed', code: 'internal_error', reason: INTERNAL_REASON, details: null };
  }
  const { code, message: reason, retryable, retryAfterMs, details } = failure;
  if ((retryable || failure.waits) && situation.cancelRequested) return { next: 'cancelled' };
  if (failure.waits) return { next: 'waiting', delayMs: WAITING_MS, code, reason };
  if (retryable && situation.attempt < situation.maxAttempts) {
    const delayMs = backoffMs(situation.attempt, situation.backoff, situation.random, retryAfterMs);
    return { next: 'retried', delayMs, code, reason };
  }
  return { next: 'failed', code, reason, details: Object.keys(details).length === 0 ? null : details };
}
