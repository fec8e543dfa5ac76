import { ServiceError } from '../../contract/problems/service-error.ts';
import { messageOf } from '../../platform/errors.ts';
import { ThreadError } from '../../platform/threads/thread.ts';
import { TaskError } from '../tasks/task.ts';

/** Failure codes of the daemon; those of Node are in upper case. */
const FAILURE_CODE = /^[a-z][a-z_]+$/;

/** Converts an error of the parse thread to the failure of a task; an unexpected error stays as it is. */
export function parseTaskError(error: unknown): unknown {
  if (error instanceof ThreadError) {
    const message = `${error.message}; the next run continues with the containers that are not parsed yet`;
    return new TaskError('parse_thread_failed', message, { retryable: true, cause: error });
  }
  if (!(error instanceof Error) || error instanceof TaskError || !('code' in error)) return error;
  const { code } = error;
  if (typeof code !== 'string' || !FAILURE_CODE.test(code)) return error;
  return new TaskError(code, error.message, { cause: error });
}

/** Converts an error of the parse thread to the answer of a report. */
export function parseReportError(error: unknown): ServiceError {
  return new ServiceError('backend_unavailable', `the parse index cannot be read: ${messageOf(error)}`);
}
