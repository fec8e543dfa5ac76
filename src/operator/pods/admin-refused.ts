import type { ChannelReason } from '../../contract/crd/channel-reasons.ts';

/** A server or its daemon said no. */
export class AdminRefused extends Error {
  readonly status: number;
  /** Code of the problem catalogue, that of the daemon where it answered; `null` when there is none. */
  readonly code: string | null;

  constructor(status: number, code: string | null, message: string) {
    super(message);
    this.name = 'AdminRefused';
    this.status = status;
    this.code = code;
  }
}

/** Codes that pass by themselves. */
const PASSING = new Set(['daemon_unreachable', 'backend_unavailable', 'overloaded', 'store_locked']);

/** What a failed call to the admin surface means for the object: whom it waits for, and why. */
export function meaningOf(error: unknown): ChannelReason {
  if (!(error instanceof AdminRefused)) return 'AdminUnavailable';
  if (error.code !== null && PASSING.has(error.code)) return 'AdminUnavailable';
  if (error.status === 401) return 'TokenRejected';
  if (error.status === 403) return 'ControlNotExposed';
  const isRefusal = error.status === 400 || error.status === 501 || error.status === 502;
  // Anything else (404 of another program, 500) may be a deployment on its way.
  return isRefusal && error.code !== null ? 'ActionRejected' : 'AdminUnavailable';
}
