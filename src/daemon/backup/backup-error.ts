import { messageOf } from '../../platform/errors.ts';
import { errorCode, NO_SPACE } from '../../platform/files/error-code.ts';
import { TaskError } from '../../engine/tasks/task.ts';

/** The codes of the errors of a copy. Kept apart from the thread's code, which callers need not load. */
export const COPY_ERRORS = {
  noSpace: 'copy_no_space',
  damaged: 'copy_damaged',
  failed: 'copy_failed',
} as const;

const FULL: ReadonlySet<string | null> = new Set([...NO_SPACE, COPY_ERRORS.noSpace]);
/** The codes of Node for errors of the system, as ENOENT. */
const SYSTEM_CODE = /^E[A-Z0-9]+$/;

/** Creates the failure of a backup whose volume is full. */
export function noSpaceError(folder: string, what: string, cause?: unknown): TaskError {
  return new TaskError(
    'backup_no_space',
    `${what}; free space on the volume of ${folder}, set backup.folder to another volume, or lower backup.keep; the older backups are kept`,
    { cause },
  );
}

/** Whether an error says that the volume of the backup is full. */
export function isNoSpace(error: unknown): boolean {
  return FULL.has(errorCode(error));
}

/** Gives an error of the backup folder a name and advice; an unexpected error and a cancellation stay as they are. */
export function backupTaskError(folder: string, error: unknown): unknown {
  if (error instanceof TaskError) return error;
  if (isNoSpace(error)) return noSpaceError(folder, `the backup does not fit: ${messageOf(error)}`, error);
  if (!SYSTEM_CODE.test(errorCode(error) ?? '')) return error;
  return new TaskError(
    'backup_failed',
    `the backup folder ${folder} cannot be used: ${messageOf(error)}; give the daemon write access, or set backup.folder; the older backups are kept`,
    { cause: error },
  );
}
