import type { Progress } from '../output/progress-line.ts';
import type { ReportOf } from './read-report.ts';

/** A task as task.status and task.list give it. */
export type TaskView = ReportOf<'task.status'>['task'];

/** How the progress and the result of a task are put into words. */
export interface OutcomeWords {
  readonly progress: (progress: Progress) => string;
  readonly result: (result: NonNullable<TaskView['result']>) => string;
}

/** Describes how a task goes or ended; empty when there is nothing to say yet. */
export function describeOutcome(task: TaskView, words: OutcomeWords): string {
  if (task.failure_code !== null) return `${task.failure_code}: ${task.failure_reason ?? ''}`;
  if (task.status === 'running' && task.progress !== null) return words.progress(task.progress);
  if (task.cancel_requested_at !== null) return `cancelled: ${task.cancel_reason ?? 'no reason given'}`;
  return task.result === null ? '' : words.result(task.result);
}
