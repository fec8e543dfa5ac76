import { messageOf } from '../../platform/errors.ts';
import { dataFolderFailureOf, storageFailureOf, type StorageFailure } from '../database/storage-failure.ts';
import { TaskError, type TaskResult } from './task.ts';

/**
 * Converts a storage error to the failure that a task reports.
 *
 * @param details the progress of the task so far
 * @returns `null` for any other error
 */
export function storageTaskError(error: unknown, details: TaskResult = {}): TaskError | null {
  const failure = storageFailureOf(error);
  return failure === null ? null : taskErrorOf(failure, error, details);
}

/** Converts a file system error of the data folder to the failure that a task reports; returns other errors unchanged. */
export function dataFolderTaskError(error: unknown): unknown {
  const failure = dataFolderFailureOf(error);
  return failure === null ? error : taskErrorOf(failure, error, {});
}

function taskErrorOf(
  { code, advice, retryable }: StorageFailure,
  error: unknown,
  details: TaskResult,
): TaskError {
  return new TaskError(code, `${messageOf(error)}; ${advice}`, { retryable, details, cause: error });
}
