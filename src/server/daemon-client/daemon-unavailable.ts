import { neverConnected, type HttpFailure, type HttpFailureCode } from '../../platform/http/http-client.ts';

type DaemonFailureCode = HttpFailureCode | 'answer_refused' | 'token_unreadable';

/** The daemon could not be reached, or its answer is not usable. */
export class DaemonUnavailable extends Error {
  readonly code: DaemonFailureCode;
  readonly status: number | null;
  readonly daemonCode: string | null;
  readonly wasNotSent: boolean;

  /**
   * @param code the kind of failure
   * @param message for the log and for diagnostics: the call and its result
   */
  constructor(
    code: DaemonFailureCode,
    message: string,
    options: {
      readonly status?: number;
      readonly daemonCode?: string | null;
      readonly wasNotSent?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DaemonUnavailable';
    this.code = code;
    this.status = options.status ?? null;
    this.daemonCode = options.daemonCode ?? null;
    this.wasNotSent = options.wasNotSent ?? code === 'token_unreadable';
  }
}

const SUBJECTS: Readonly<Record<HttpFailureCode, string>> = {
  unreachable: 'the daemon cannot be reached',
  timeout: 'the daemon did not answer in time',
  answer_too_large: "the daemon's answer is too large",
  answer_type: "the daemon's answer cannot be used",
  answer_invalid: "the daemon's answer cannot be used",
};

/** Turns a failed HTTP call to the daemon into the error for callers. */
export function unavailableOf(failure: HttpFailure): DaemonUnavailable {
  const { code, status, message } = failure;
  return new DaemonUnavailable(code, `${SUBJECTS[code]}: ${message}`, {
    ...(status === null ? {} : { status }),
    wasNotSent: neverConnected(failure),
    cause: failure,
  });
}
