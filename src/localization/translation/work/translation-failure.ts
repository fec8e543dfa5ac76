import { ServiceError } from '../../../contract/problems/service-error.ts';
import { messageOf } from '../../../platform/errors.ts';
import { ThreadError } from '../../../platform/threads/thread.ts';
import { TaskError } from '../../../engine/tasks/task.ts';
import type { UpdateRefusal } from './store/task-update.ts';

/** The code of a translation.db that cannot be used. Kept apart from the thread's code, which callers need not load. */
export const UNAVAILABLE = 'translation_unavailable';

/** Seconds after which a caller should try again when the tasks are not those of the parse index. */
const RETRY_SECONDS = 5;

/**
 * Converts an error of the translation thread, or of the parse index, which moves on during work, to the answer of a report or an
 * action; another error stays as it is.
 */
export function translationServiceError(error: unknown): unknown {
  if (error instanceof TaskError) {
    return new ServiceError('backend_unavailable', error.message, {
      cause: error,
      retryAfter: RETRY_SECONDS,
    });
  }
  const reason = unavailableReason(error);
  return reason === null ? error : new ServiceError('backend_unavailable', reason, { cause: error });
}

/** Waits for an answer to a report. @throws the signal's reason; ServiceError when translation.db cannot be used */
export async function answerOf<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    signal.throwIfAborted();
    throw translationServiceError(error);
  }
}

/** Why translation.db cannot be used; `null` for an error of another kind. */
export function unavailableReason(error: unknown): string | null {
  return isUnavailable(error) ? `translation.db cannot be used: ${messageOf(error)}` : null;
}

/** Converts an error of the translation thread to the failure of a task; another error stays as it is. */
export function translationTaskError(error: unknown): unknown {
  const reason = unavailableReason(error);
  if (reason === null) return error;
  return new TaskError(UNAVAILABLE, reason, { retryable: error instanceof ThreadError, cause: error });
}

/** Converts an error of the judge or of the translation thread to the failure of a task; another error stays as it is. */
export function judgingTaskError(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return translationTaskError(error);
  return new TaskError(error.code, error.message, { cause: error });
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof ThreadError) return true;
  return error instanceof Error && 'code' in error && error.code === UNAVAILABLE;
}

/** The answer of a call that was made. @throws ServiceError when it was refused */
export function requireAccepted<T extends { readonly isRefused: false }>(answer: T | UpdateRefusal): T {
  if (!answer.isRefused) return answer;
  const { code, detail, errors } = answer;
  throw new ServiceError(code, detail, errors.length === 0 ? {} : { errors });
}
