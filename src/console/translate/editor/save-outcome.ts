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

/** Refusals with 4xx that end by themselves. */
const PASSING = new Set(['data_full', 'data_io_error', 'data_read_only', 'store_locked']);

/** The daemon's code of a failure, else that of the server; empty when the answer has none. */
export function codeOf({ problem }: Pick<ApiFailure, 'problem'>): string {
  return problem.daemon?.code ?? problem.code ?? '';
}

/** Sorts a failure: whether the same text can be sent again later, or a person must decide. */
export function outcomeOfFailure(failure: ApiFailure): SaveOutcome {
  const { message, retryAfter } = failure;
  const code = codeOf(failure);
  const status = refusalStatus(failure);
  const delayed = (reason: WaitReason): SaveOutcome => ({ kind: 'delayed', reason, message, retryAfter });
  if (status === 0) return delayed('offline');
  if (status === 401) return delayed('login');
  if (status >= 500 || [408, 425, 429].includes(status) || PASSING.has(code)) return delayed('busy');
  return { kind: 'refused', code: code === '' ? String(status) : code, detail: message };
}

/** The server answers 502 where the daemon has refused an action; the daemon's own status says more. */
function refusalStatus({ status, problem }: ApiFailure): number {
  return problem.code === 'daemon_rejected' ? (problem.daemon?.status ?? status) : status;
}
