import { ServiceError } from '../../../contract/problems/service-error.ts';
import { TaskError } from '../../../engine/tasks/task.ts';
import { translationTaskError } from '../work/translation-failure.ts';

/** Converts an error of the judge or of the translation thread to the failure of a task; another error stays as it is. */
export function judgingTaskError(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return translationTaskError(error);
  return new TaskError(error.code, error.message, { cause: error });
}
