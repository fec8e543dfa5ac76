import { ServiceError } from '../../../contract/problems/service-error.ts';
import { messageOf } from '../../../platform/errors.ts';
import { ThreadError } from '../../../platform/threads/thread.ts';
import { TaskError } from '../../tasks/task.ts';
import { UNAVAILABLE } from './work-holder.ts';

/** Converts an error of the translation thread to the answer of a report or an action; another error stays as it is. */
export function translationServiceError(error: unknown): unknown {
  const reason = unavailableReason(error);
  return reason === null ? error : new ServiceError('backend_unavailable', reason, { cause: error });
}

/** Says why translation.db cannot be used; `null` for an error of another kind. */
export function unavailableReason(error: unknown): string | null {
  return isUnavailable(error) ? `translation.db cannot be used: ${messageOf(error)}` : null;
}

/** Converts an error of the translation thread to the failure of a task; another error stays as it is. */
export function translationTaskError(error: unknown): unknown {
  const reason = unavailableReason(error);
  if (reason === null) return error;
  return new TaskError(UNAVAILABLE, reason, { retryable: error instanceof ThreadError, cause: error });
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof ThreadError) return true;
  return error instanceof Error && 'code' in error && error.code === UNAVAILABLE;
}
