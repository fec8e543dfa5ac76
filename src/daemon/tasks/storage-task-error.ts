import { messageOf } from '../../platform/errors.ts';
import { storageFailureOf } from '../database/storage-failure.ts';
import { TaskError, type TaskResult } from './task.ts';

/**
 * Converts a storage error to the failure that a task reports.
 *
 * @param details the progress of the task so far
 * @returns `null` for any other error
 */
export function storageTaskError(error: unknown, details: TaskResult = {}): TaskError | null {
  const failure = storageFailureOf(error);
  if (failure === null) return null;
  const { code, advice, retryable } = failure;
  return new TaskError(code, `${messageOf(error)}; ${advice}`, { retryable, details, cause: error });
}
