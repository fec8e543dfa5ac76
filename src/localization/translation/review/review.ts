import type { DefinedAction } from '../../../engine/define-action.ts';
import { implementJob, type Job } from '../../../engine/tasks/job.ts';
import type { TaskContext, TaskResult } from '../../../engine/tasks/task.ts';
import { judgingTaskError } from '../work/translation-failure.ts';
import { reviewAction, type ReviewActionOptions } from './review-action.ts';
import type { UnitsAfterPort } from '../judge/unit-source.ts';
import { HANDOFF_EXPORT_JOB, PROOFREAD_IMPORT_JOB, PROOFREAD_JOB } from './review-jobs.ts';

/** The parts that reviews use. */
export interface ReviewOptions extends ReviewActionOptions {
  readonly unitsAfter: UnitsAfterPort;
  readonly dataDirectory: string;
}

/** Assembles reviews. */
export function createReview(options: ReviewOptions): {
  readonly actions: readonly DefinedAction[];
  readonly jobs: readonly Job[];
} {
  return {
    actions: [reviewAction(options)],
    jobs: [
      // The code of each is loaded with its first run.
      implementJob(
        HANDOFF_EXPORT_JOB,
        withTaskErrors(options, async () => (await import('./handoff-export.ts')).exportHandoff),
      ),
      implementJob(
        PROOFREAD_JOB,
        withTaskErrors(options, async () => (await import('./check-tasks.ts')).checkTasks),
      ),
      implementJob(
        PROOFREAD_IMPORT_JOB,
        withTaskErrors(options, async () => (await import('./import-file.ts')).importFile),
      ),
    ],
  };
}

function withTaskErrors<Arguments>(
  options: ReviewOptions,
  load: () => Promise<(options: ReviewOptions, context: TaskContext<Arguments>) => Promise<TaskResult>>,
): (context: TaskContext<Arguments>) => Promise<TaskResult> {
  return async (context) => {
    try {
      return await (
        await load()
      )(options, context);
    } catch (error) {
      context.signal.throwIfAborted();
      throw judgingTaskError(error);
    }
  };
}
