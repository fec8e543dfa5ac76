/** The outcome of sending a text; pure. */

import type { ApiFailure } from '../../api/api-client.ts';
import type { DraftEvent, WaitReason } from './unit-draft.ts';

/** The end of one try. */
export type SaveOutcome =
  | Extract<DraftEvent, { kind: 'stored' | 'refused' }>
  | (Extract<DraftEvent, { kind: 'delayed' }> & {
      /** Seconds that the server asks to wait. */
      readonly retryAfter: number | null;
    });

/** Sorts a failure: whether the same text can be sent again later, or a person must decide. */
export function outcomeOfFailure(failure: ApiFailure): SaveOutcome {
  const { message, retryAfter, status, code } = failure;
  const delayed = (reason: WaitReason): SaveOutcome => ({ kind: 'delayed', reason, message, retryAfter });
  if (failure.isOffline) return delayed('offline');
  if (status === 401) return delayed('login');
  if (failure.isPassing) return delayed('busy');
  return { kind: 'refused', code: code === '' ? String(status) : code, detail: message };
}
