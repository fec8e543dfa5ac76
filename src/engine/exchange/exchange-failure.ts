import { ServiceError } from '../../contract/problems/service-error.ts';
import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { TaskError } from '../tasks/task.ts';

/** Failures of the volume of `exchange.root`, by their code. Source: errno(3). */
const VOLUME_FAILURES: ReadonlyMap<string, readonly [code: string, advice: string]> = new Map([
  ['ENOSPC', ['exchange_no_space', 'free space on the volume of exchange.root, or of data.dir']],
  ['EDQUOT', ['exchange_no_space', 'raise the quota of the volume']],
  ['EROFS', ['exchange_read_only', 'mount the volume of exchange.root read-write']],
  ['EACCES', ['exchange_read_only', 'give the daemon access to exchange.root and its files']],
  ['EPERM', ['exchange_read_only', 'give the daemon access to exchange.root and its files']],
  ['EIO', ['exchange_io_error', 'check the disk behind exchange.root']],
  ['ESTALE', ['exchange_io_error', 'the volume went away; check the mount']],
]);

/**
 * Converts an error of a file in exchange to the failure of a task.
 *
 * @param file the path of the file as the caller gave it
 * @returns the error itself when it is no such error
 */
export function exchangeTaskError(file: string, error: unknown): unknown {
  if (error instanceof ExchangeFileError) {
    const { reason, line } = error;
    const message = `${file}: ${error.message}; nothing was changed`;
    return new TaskError('file_refused', message, { details: { file, reason, line }, cause: error });
  }
  if (error instanceof ServiceError && (error.code === 'invalid_path' || error.code === 'file_not_found')) {
    return new TaskError(error.code, error.message, { cause: error });
  }
  const failure = VOLUME_FAILURES.get(errorCode(error) ?? '');
  if (failure === undefined) return error;
  const [code, advice] = failure;
  return new TaskError(code, `${file}: ${messageOf(error)}; ${advice}`, { cause: error });
}
