import { ServiceError } from '../contract/problems/service-error.ts';

/**
 * The refusal of a query whose parameter names a file that is not there: the query is wrong, and nothing is down.
 *
 * @param message names the file as the parameter does
 */
export function missingFileError(parameter: string, message: string, cause: unknown): ServiceError {
  return new ServiceError('invalid_path', message, {
    errors: [{ pointer: parameter, message: 'names no file' }],
    cause,
  });
}
