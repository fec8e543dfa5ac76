/**
 * The consequence of a failure for its units. `unit`: the attempt counts. `retry`: the provider has trouble; try again later, and no
 * attempt counts. `stop`: no other request can succeed, so the run ends and no attempt counts. `leave`: the unit stays as it is.
 */
type Disposition = 'unit' | 'retry' | 'stop' | 'leave';

/** Every reason why a unit gets no translation from a provider. */
export const PROVIDER_FAILURES = {
  provider_unreachable: 'retry',
  provider_timeout: 'retry',
  provider_throttled: 'retry',
  provider_error: 'retry',
  provider_unusable: 'retry',
  provider_rejected: 'stop',
  provider_credentials: 'stop',
  provider_account: 'stop',
  cap_reached: 'stop',
  request_too_large: 'unit',
  request_refused: 'unit',
  answer_malformed: 'unit',
  answer_too_large: 'unit',
  answer_cut: 'unit',
  answer_refused: 'unit',
  placeholders_changed: 'unit',
  too_many_placeholders: 'unit',
  not_in_fixture: 'unit',
  memory_only: 'leave',
} as const satisfies Record<string, Disposition>;

/** One of {@link PROVIDER_FAILURES}. */
export type ProviderFailureCode = keyof typeof PROVIDER_FAILURES;

/** Failures that the same request about one unit would meet again. */
export const FINAL_FAILURES: ReadonlySet<ProviderFailureCode> = new Set([
  'request_too_large',
  'request_refused',
  'answer_refused',
  'too_many_placeholders',
  'not_in_fixture',
]);

/** Whether a failure says that the provider has trouble, or that nothing can be asked of it. */
export function isOfProvider(code: ProviderFailureCode): boolean {
  return PROVIDER_FAILURES[code] === 'retry' || PROVIDER_FAILURES[code] === 'stop';
}

/** Why a provider gave no usable answer about a unit. */
export interface FailedUnit {
  readonly unitId: string;
  readonly code: ProviderFailureCode;
  /** For people; never contains a secret. */
  readonly message: string;
  /** When the provider asked to come back, milliseconds from the answer on; `null` when it did not ask. */
  readonly retryAfterMs: number | null;
  /** Whether the run has asked often enough, or another request would end the same way. */
  readonly isFinal: boolean;
}

/** A request got no answer that can be used, so that the failure is one of all its units. */
export class ProviderError extends Error {
  readonly code: ProviderFailureCode;
  readonly retryAfterMs: number | null;

  constructor(
    code: ProviderFailureCode,
    message: string,
    options: { readonly retryAfterMs?: number | null; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ProviderError';
    this.code = code;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}
