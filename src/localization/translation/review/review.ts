import type { DefinedAction } from '../../../engine/define-action.ts';
import { implementJob, type Job } from '../../../engine/tasks/job.ts';
import type { TaskContext, TaskResult } from '../../../engine/tasks/task.ts';
import { judgingTaskError } from '../work/translation-failure.ts';
import { checkTasks } from './check-tasks.ts';
import { exportHandoff } from './handoff-export.ts';
import { importFile } from './import-file.ts';
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
      implementJob(HANDOFF_EXPORT_JOB, withTaskErrors(exportHandoff, options)),
      implementJob(PROOFREAD_JOB, withTaskErrors(checkTasks, options)),
      implementJob(PROOFREAD_IMPORT_JOB, withTaskErrors(importFile, options)),
    ],
  };
}

function withTaskErrors<Arguments>(
  run: (options: ReviewOptions, context: TaskContext<Arguments>) => Promise<TaskResult>,
  options: ReviewOptions,
): (context: TaskContext<Arguments>) => Promise<TaskResult> {
  return async (context) => {
    try {
      return await run(options, context);
    } catch (error) {
      context.signal.throwIfAborted();
      throw judgingTaskError(error);
    }
  };
}
