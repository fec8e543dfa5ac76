import { missingFileError } from '../../engine/missing-file.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { MemoryRefusal } from '../../domain/memory/transitions.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';

/** How a person gets an unusable file back. The daemon itself never replaces it. */
export const RESTORE_ADVICE =
  'the file is left as it is; correct the cause, or stop the daemon and restore memory.db from a backup with "slipway restore --database memory"';

export function memoryReportError(error: unknown): ServiceError {
  if (errorCode(error) === 'file_not_found') {
    return missingFileError('translation_memory_path', messageOf(error), error);
  }
  if (errorCode(error) === 'invalid_path')
    return new ServiceError('invalid_path', messageOf(error), { cause: error });
  return new ServiceError('backend_unavailable', unavailableReason(error), { cause: error });
}

export function memoryActionError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (errorCode(error) !== 'file_not_found') return memoryReportError(error);
  return new ServiceError('file_not_found', messageOf(error), { cause: error });
}

export function refusalError({ code, message }: MemoryRefusal): ServiceError {
  return new ServiceError(code, message);
}

export function unavailableReason(error: unknown): string {
  const isMissing = errorCode(error) === 'file_not_found';
  return `the Translation Memory cannot be used: ${messageOf(error)}${isMissing ? '' : `; ${RESTORE_ADVICE}`}`;
}
