import type { ServiceReason } from '../../domain/service-state/service-reasons.ts';
import type { ProblemCode } from './problems.ts';

/** One rejected field: where (RFC 6901 pointer, or the name of a query parameter) and why. */
export interface FieldError {
  readonly pointer: string;
  readonly message: string;
}

export interface ServiceErrorOptions {
  readonly reason?: ServiceReason;
  readonly errors?: readonly FieldError[];
  /** The answer of the daemon, on 501, 502 and 503 of forwarded operations. */
  readonly daemon?: { readonly status: number | null; readonly code: string | null };
  /** Seconds for `Retry-After`. */
  readonly retryAfter?: number;
  /** For the log only, never for the body. */
  readonly internal?: string;
  readonly cause?: unknown;
}

/** An error that has an answer: a code of the problem catalogue and one sentence for the caller. */
export class ServiceError extends Error {
  readonly code: ProblemCode;
  readonly options: ServiceErrorOptions;

  constructor(code: ProblemCode, detail: string, options: ServiceErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.options = options;
  }
}
