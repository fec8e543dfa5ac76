import type { DefinedAction } from '../../../engine/define-action.ts';
import { implementJob, type Job } from '../../../engine/tasks/job.ts';
import { judgingTaskError } from '../judge/judging-failure.ts';
import { checkTasks } from './check-tasks.ts';
import { exportHandoff, type HandoffExportPorts } from './handoff-export.ts';
import { importFile } from './import-file.ts';
import { createReviewAction, type ReviewActionOptions } from './review-action.ts';
import { HANDOFF_EXPORT_JOB, PROOFREAD_IMPORT_JOB, PROOFREAD_JOB } from './review-jobs.ts';

/** The parts that reviews use. */
export type ReviewOptions = ReviewActionOptions &
  Omit<HandoffExportPorts, 'thread'> & {
    readonly dataDirectory: string;
  };

interface Review {
  readonly actions: readonly DefinedAction[];
  readonly jobs: readonly Job[];
}

/** Assembles reviews. */
export function createReview(options: ReviewOptions): Review {
  const fourEyes = (): boolean => options.configuration().fourEyes;
  return {
    actions: [createReviewAction(options)],
    jobs: [
      implementJob(
        HANDOFF_EXPORT_JOB,
        async (context) => await withTaskErrors(context.signal, () => exportHandoff(options, context)),
      ),
      implementJob(
        PROOFREAD_JOB,
        async (context) => await withTaskErrors(context.signal, () => checkTasks(options, context)),
      ),
      implementJob(
        PROOFREAD_IMPORT_JOB,
        async (context) =>
          await withTaskErrors(context.signal, () =>
            importFile({ ...options, privateFolder: options.dataDirectory, fourEyes }, context),
          ),
      ),
    ],
  };
}

async function withTaskErrors<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    throw judgingTaskError(error);
  }
}
