import { TaskError, type TaskResult } from '../../tasks/task.ts';
import { UpstreamError } from '../../upstream/upstream.ts';
import { messageOf } from '../../../platform/errors.ts';

/** Maps system error codes of storage errors to task failure codes. */
const STORAGE_CODES: ReadonlyMap<string, { readonly code: string; readonly advice: string }> = new Map([
  ['ENOSPC', { code: 'no_space', advice: 'free space on the volume, for example with release-cleanup' }],
  ['EDQUOT', { code: 'no_space', advice: 'raise the quota of the volume or run release-cleanup' }],
  ['EROFS', { code: 'read_only', advice: 'mount the snapshot volume read-write for the daemon' }],
  ['EACCES', { code: 'read_only', advice: 'give the daemon write access to the snapshot volume' }],
  ['EPERM', { code: 'read_only', advice: 'give the daemon write access to the snapshot volume' }],
  ['EIO', { code: 'io_error', advice: 'check the disk behind the volume' }],
  ['EXDEV', { code: 'io_error', advice: 'the staging directory must be on the file system of the store' }],
  ['EMFILE', { code: 'io_error', advice: 'raise the limit of open files' }],
  ['ENFILE', { code: 'io_error', advice: 'raise the limit of open files' }],
  ['ESTALE', { code: 'io_error', advice: 'the volume went away; check the mount' }],
]);

const RETRYABLE_STORAGE = new Set(['io_error']);

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
  const system = systemCode(error);
  const known = system === null ? undefined : STORAGE_CODES.get(system);
  if (known === undefined) return error;
  return new TaskError(known.code, `${messageOf(error)}; ${known.advice}`, {
    retryable: RETRYABLE_STORAGE.has(known.code),
    details,
    cause: error,
  });
}

/** The system error code (`ENOSPC`) of an error or of its causes, or `null`. */
function systemCode(error: unknown): string | null {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    const { code } = current as NodeJS.ErrnoException;
    if (typeof code === 'string' && STORAGE_CODES.has(code)) return code;
    current = current.cause;
  }
  return null;
}
