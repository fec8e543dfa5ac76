import { ServiceError } from '../../../contract/problems/service-error.ts';
import { messageOf } from '../../../platform/errors.ts';
import { ThreadError } from '../../../platform/threads/thread.ts';
import { TaskError } from '../../tasks/task.ts';
import { UNAVAILABLE } from './work-holder.ts';

/** Seconds after which a caller should try again when the tasks are not those of the parse index. */
const RETRY_SECONDS = 5;

/** Converts an error of the translation thread, or one of the parse index that a new call can avoid, to the answer of a report or an action; another error stays as it is. */
export function translationServiceError(error: unknown): unknown {
  if (error instanceof TaskError && error.retryable) {
    return new ServiceError('backend_unavailable', error.message, { cause: error, retryAfter: RETRY_SECONDS });
  }
  if (!isUnavailable(error)) return error;
  return new ServiceError('backend_unavailable', `translation.db cannot be used: ${messageOf(error)}`, {
    cause: error,
  });
}

/** Converts an error of the translation thread to the failure of a task; another error stays as it is. */
export function translationTaskError(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  const retryable = error instanceof ThreadError;
  return new TaskError(UNAVAILABLE, `translation.db cannot be used: ${messageOf(error)}`, {
    retryable,
    cause: error,
  });
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof ThreadError) return true;
  return error instanceof Error && 'code' in error && error.code === UNAVAILABLE;
}
