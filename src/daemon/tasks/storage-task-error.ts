import { messageOf } from '../../platform/errors.ts';
import { dataFolderFailureOf, storageFailureOf } from '../database/storage-failure.ts';
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

/** Converts a file system error of the data folder to the failure that a task reports; returns other errors unchanged. */
export function dataFolderTaskError(error: unknown): unknown {
  const failure = dataFolderFailureOf(error);
  if (failure === null) return error;
  const { code, advice, retryable } = failure;
  return new TaskError(code, `${messageOf(error)}; ${advice}`, { retryable, cause: error });
}
