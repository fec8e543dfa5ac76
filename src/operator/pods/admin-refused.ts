import type { ChannelReason } from '../../contract/crd/channel-reasons.ts';
import { messageOf } from '../../platform/errors.ts';

/** A server or its daemon rejected a call. */
export class AdminRefused extends Error {
  readonly status: number;
  /** Code of the problem catalogue, from the daemon if it answered; `null` when there is none. */
  readonly code: string | null;

  constructor(status: number, code: string | null, message: string) {
    super(message);
    this.name = 'AdminRefused';
    this.status = status;
    this.code = code;
  }
}

/** Whether a call was refused with one of these codes. */
export function isRefusedAs(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof AdminRefused && error.code !== null && codes.includes(error.code);
}

const PASSING = new Set([
  'daemon_unreachable',
  'backend_unavailable',
  'overloaded',
  'standby',
  'store_locked',
]);

/** The reason that a failed call to the admin surface gives a condition. */
export function meaningOf(error: unknown): ChannelReason {
  if (!(error instanceof AdminRefused)) return 'AdminUnavailable';
  if (error.code !== null && PASSING.has(error.code)) return 'AdminUnavailable';
  if (error.status === 401) return 'TokenRejected';
  if (error.status === 403) return 'ControlNotExposed';
  const isRefusal = error.status === 400 || error.status === 501 || error.status === 502;
  // Anything else (404 of another program, 500) may be a deployment in progress.
  return isRefusal && error.code !== null ? 'ActionRejected' : 'AdminUnavailable';
}

/** The message of a failed call, with the code of the problem if there is one. */
export function describeFailure(error: unknown): string {
  const message = messageOf(error);
  return error instanceof AdminRefused && error.code !== null ? `${message} (${error.code})` : message;
}
