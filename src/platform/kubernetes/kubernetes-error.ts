/** The API server rejected a call or ended a watch with an error. */
export class KubernetesError extends Error {
  /** HTTP status, or the code of a watch event. */
  readonly status: number;
  /** Machine-readable reason of the Status object, such as `Conflict`; empty when there is none. */
  readonly reason: string;
  readonly retryAfterMs: number | null;
  /** Machine-readable causes of the Status object, such as `NamespaceTerminating`. */
  readonly causes: readonly string[];

  constructor(
    status: number,
    reason: string,
    message: string,
    {
      retryAfterMs = null,
      causes = [],
    }: { readonly retryAfterMs?: number | null; readonly causes?: readonly string[] } = {},
  ) {
    super(message);
    this.name = 'KubernetesError';
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.causes = causes;
  }
}

/** Whether the API server rejected a call because the namespace is being deleted; no permission is missing then. */
export function isNamespaceTerminating(error: unknown): boolean {
  return error instanceof KubernetesError && error.causes.includes('NamespaceTerminating');
}

/** Whether an error is an answer of the API server with this status. */
export function hasStatus(error: unknown, status: number): error is KubernetesError {
  return error instanceof KubernetesError && error.status === status;
}

/** The wait that the API server asks for, milliseconds, or `null`. */
export function retryAfterOf(error: unknown): number | null {
  return error instanceof KubernetesError ? error.retryAfterMs : null;
}
