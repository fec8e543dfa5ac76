import { MirrorError } from '../../mirror/mirror-error.ts';
import { storageTaskError } from '../../engine/tasks/storage-task-error.ts';
import { TaskError, type TaskResult } from '../../engine/tasks/task.ts';
import type { ConnectedUpstream } from '../../upstream/adapters/upstream-source.ts';
import { UpstreamError } from '../../upstream/upstream.ts';

/**
 * Converts an error of a release task to the failure that the task reports. Unknown errors stay as they are; the engine
 * reports them as `internal_error`.
 *
 * @param details the progress of the task so far
 */
export function releaseTaskError(error: unknown, details: TaskResult = {}): unknown {
  if (error instanceof TaskError) return error;
  if (error instanceof UpstreamError) {
    const { retryable, retryAfterMs } = error;
    return new TaskError(error.code, error.message, { retryable, retryAfterMs, details, cause: error });
  }
  if (error instanceof MirrorError) {
    return new TaskError(error.code, error.message, { retryable: error.retryable, details, cause: error });
  }
  return storageTaskError(error, details) ?? error;
}

/** @throws TaskError `upstream_not_configured` */
export function requireUpstream(upstream: ConnectedUpstream | null): asserts upstream is ConnectedUpstream {
  if (upstream !== null) return;
  throw new TaskError(
    'upstream_not_configured',
    'no upstream is configured: set upstream.kind and its options',
  );
}
