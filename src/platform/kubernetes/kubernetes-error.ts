/** The API server rejected a call or ended a watch with an error. */
export class KubernetesError extends Error {
  /** HTTP status, or the code of a watch event. */
  readonly status: number;
  /** Machine-readable reason of the Status object, such as `Conflict`; empty when there is none. */
  readonly reason: string;
  /** Wait that `Retry-After` asks for, milliseconds, or `null`. */
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

/** The wait that the API server asks for, milliseconds, or `null`. */
export function retryAfterOf(error: unknown): number | null {
  return error instanceof KubernetesError ? error.retryAfterMs : null;
}
