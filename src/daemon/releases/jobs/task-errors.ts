import { MirrorError } from '../../../mirror/mirror-error.ts';
import { storageTaskError } from '../../tasks/storage-task-error.ts';
import { TaskError, type TaskResult } from '../../tasks/task.ts';
import { UpstreamError } from '../../upstream/upstream.ts';

/**
 * Converts an error of a release task to the failure that the task reports. Unknown errors stay as they are; the engine
 * reports them as `internal_error`.
 *
 * @param error the value that was thrown
 * @param details the progress of the task so far
 */
export function releaseTaskError(error: unknown, details: TaskResult = {}): unknown {
  if (error instanceof TaskError) return error;
  if (error instanceof UpstreamError) {
    return new TaskError(error.code, error.message, {
      retryable: error.retryable,
      retryAfterMs: error.retryAfterMs,
      details,
      cause: error,
    });
  }
  if (error instanceof MirrorError) {
    return new TaskError(error.code, error.message, { retryable: error.retryable, details, cause: error });
  }
  return storageTaskError(error, details) ?? error;
}
