/** An answer of the API server that says no. */
export class KubernetesError extends Error {
  /** HTTP status, or the code of a watch event. */
  readonly status: number;
  /** Machine-readable reason of the Status object, such as `Conflict`; empty when there is none. */
  readonly reason: string;
  /** What `Retry-After` asked for, or `null`. */
  readonly retryAfterMs: number | null;

  constructor(status: number, reason: string, message: string, retryAfterMs: number | null = null) {
    super(message);
    this.name = 'KubernetesError';
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Whether an error is an answer of the API server with this status. */
export function hasStatus(error: unknown, status: number): error is KubernetesError {
  return error instanceof KubernetesError && error.status === status;
}

/** What the other party asked to wait, milliseconds, or `null`. */
export function retryAfterOf(error: unknown): number | null {
  return error instanceof KubernetesError ? error.retryAfterMs : null;
}
