import { isProblemCode } from '../../contract/problems/problems.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { ThreadError } from '../../platform/threads/thread.ts';

/** The code of a Glossary that cannot be used. Kept apart from the thread's code, which callers need not load. */
export const UNAVAILABLE = 'glossary_unavailable';

const ADVICE = 'restore it from a backup, or fix the cause; nothing was changed, and everything else works';

export function isUnavailable(error: unknown): boolean {
  return error instanceof ThreadError || errorCode(error) === UNAVAILABLE;
}

export function unavailableReason(error: unknown): string {
  return `the Glossary cannot be used: ${messageOf(error)}; ${ADVICE}`;
}

export function glossaryError(error: unknown): unknown {
  if (isUnavailable(error))
    return new ServiceError('backend_unavailable', unavailableReason(error), { cause: error });
  const code = errorCode(error);
  if (code === null || error instanceof ServiceError || !isProblemCode(code)) return error;
  return new ServiceError(code, messageOf(error), { cause: error });
}
