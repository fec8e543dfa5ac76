/** What kind of failure kept an answer of the daemon from being used. */
export type DaemonFailureCode =
  | 'unreachable'
  | 'timeout'
  | 'answer_refused'
  | 'answer_too_large'
  | 'answer_type'
  | 'answer_invalid'
  | 'token_unreadable';

/** The daemon could not be asked, or what it answered cannot be used. */
export class DaemonUnavailable extends Error {
  readonly code: DaemonFailureCode;
  /** HTTP status of the answer, `null` when there was none. */
  readonly status: number | null;
  /** The daemon's own problem code, when it sent one. */
  readonly daemonCode: string | null;

  /**
   * @param code what kind of failure
   * @param message for the log and for diagnostics: what was asked and what came
   */
  constructor(
    code: DaemonFailureCode,
    message: string,
    options: {
      readonly status?: number;
      readonly daemonCode?: string | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DaemonUnavailable';
    this.code = code;
    this.status = options.status ?? null;
    this.daemonCode = options.daemonCode ?? null;
  }
}
