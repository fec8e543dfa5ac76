import { backoffMs, type BackoffOptions } from '../../platform/process/backoff.ts';
import { TaskError, type TaskResult } from './task.ts';

/** How a run ended: what the handler returned, or what it threw. */
export type RunEnd =
  | { readonly returned: TaskResult }
  | {
      readonly thrown: unknown;
      /** Whether the error is the handler's answer to its aborted signal. */
      readonly byAbort: boolean;
    };

/** What becomes of the task. */
export type TaskOutcome =
  | { readonly next: 'succeeded'; readonly result: TaskResult }
  | {
      readonly next: 'failed';
      readonly code: string;
      readonly reason: string;
      readonly details: TaskResult | null;
    }
  | { readonly next: 'cancelled' }
  /** Queued again after a wait, because trying again can help. */
  | { readonly next: 'retried'; readonly delayMs: number; readonly code: string; readonly reason: string }
  /** Queued again without a wait, the attempt not counted: the daemon stopped while it ran. */
  | { readonly next: 'resumed' };

export interface OutcomeSituation {
  readonly cancelRequested: boolean;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly resumable: boolean;
  readonly backoff: BackoffOptions;
  /** In [0, 1). */
  readonly random: number;
}

/** What people read of a failure that has no code of its own. */
export const INTERNAL_REASON =
  "Something failed inside the daemon; its log has the details under the task's id.";

/** What people read of a task that a stopping or killed daemon left behind. */
export const RESTARTED_REASON = 'The daemon stopped while the task ran; start the task again.';

/**
 * Decides what becomes of a task whose handler ended. What the handler really did counts, also when it was asked to
 * stop: a result is a success, an expected failure is a failure, and only the answer to the signal is a cancellation.
 */
export function decideOutcome(end: RunEnd, situation: OutcomeSituation): TaskOutcome {
  if ('returned' in end) return { next: 'succeeded', result: end.returned };
  if (end.byAbort) {
    if (situation.cancelRequested) return { next: 'cancelled' };
    if (situation.resumable) return { next: 'resumed' };
    return { next: 'failed', code: 'daemon_restarted', reason: RESTARTED_REASON, details: null };
  }
  if (!(end.thrown instanceof TaskError)) {
    return { next: 'failed', code: 'internal_error', reason: INTERNAL_REASON, details: null };
  }
  const { code, message: reason, retryable, retryAfterMs, details } = end.thrown;
  if (retryable && situation.cancelRequested) return { next: 'cancelled' };
  if (retryable && situation.attempt < situation.maxAttempts) {
    const delayMs = backoffMs(situation.attempt, situation.backoff, situation.random, retryAfterMs);
    return { next: 'retried', delayMs, code, reason };
  }
  return { next: 'failed', code, reason, details: Object.keys(details).length === 0 ? null : details };
}
