/** A person's decision to accept what the Glossary blocks. */
export interface Override {
  readonly qaIdentity: string;
  readonly reviewer: string;
  readonly reason: string;
  /** Where the decision was made. */
  readonly provenance: string;
  /** Unix seconds. */
  readonly confirmedAt: number | bigint;
}

/** The reason why an override is not valid. */
export type OverrideProblem =
  | { readonly kind: 'stale' }
  | { readonly kind: 'blank'; readonly field: 'reviewer' | 'reason' | 'provenance' }
  | { readonly kind: 'in_future' };

/** Seconds by which the clock of a person's machine may be ahead. */
const CLOCK_TOLERANCE_SECONDS = 300;

/**
 * Checks an override.
 *
 * @param currentIdentity the `qa_identity` of the diagnosis as it is now
 * @param now Unix seconds
 * @returns `null` when it is valid: it then covers the codes of the Glossary behind that identity, and no other check
 */
export function overrideProblem(
  override: Override,
  currentIdentity: string,
  now: number,
): OverrideProblem | null {
  for (const field of ['reviewer', 'reason', 'provenance'] as const) {
    if (override[field].trim() === '') return { kind: 'blank', field };
  }
  if (override.confirmedAt > now + CLOCK_TOLERANCE_SECONDS) return { kind: 'in_future' };
  return override.qaIdentity === currentIdentity ? null : { kind: 'stale' };
}
