import { instant } from '../instant.ts';
import { CLOCK_SKEW_SECONDS, type VerifiedAttestation } from './attestation.ts';
import type { Reason } from './reasons.ts';
import { failure, success, type Result } from '../result.ts';

export interface AcceptanceState {
  /** From the volume's FORMAT file. */
  readonly storeId: string;
  readonly accepted: VerifiedAttestation | null;
  readonly highestVersion: number;
}

export interface Refusal {
  readonly reason: Reason;
  readonly message: string;
}

/**
 * Decides whether a verified attestation replaces the accepted one. A refused one changes nothing: the accepted one
 * stays good inside its own validity.
 *
 * @param nowMs the one instant of this decision, Unix milliseconds
 * @returns whether it is new (`true`) or the one already held (`false`); or why it is refused
 *
 * Source: The Update Framework specification, section 5.4 (timestamp role: rollback and freeze checks).
 */
export function acceptAttestation(
  candidate: VerifiedAttestation,
  state: AcceptanceState,
  nowMs: number,
): Result<{ readonly isNew: boolean }, Refusal> {
  const { version, store_id, issued_at, expires_at } = candidate.statement;
  if (store_id !== state.storeId) {
    return failure({
      reason: 'AttestationInvalid',
      message: `the attestation is for store ${store_id}, the volume holds store ${state.storeId}`,
    });
  }
  if (version < state.highestVersion) {
    return failure({
      reason: 'AttestationRolledBack',
      message: `attestation version ${version} is older than the accepted version ${state.highestVersion}`,
    });
  }
  if (state.accepted !== null && version === state.accepted.statement.version) {
    if (candidate.payloadSha256 === state.accepted.payloadSha256) return success({ isNew: false });
    return failure({
      reason: 'AttestationInvalid',
      message: `two different attestations carry version ${version}; the first one received is kept`,
    });
  }
  if (issued_at * 1000 > nowMs + CLOCK_SKEW_SECONDS * 1000) {
    return failure({
      reason: 'AttestationNotYetValid',
      message: `attestation version ${version} is dated ${instant(issued_at)}, in the future`,
    });
  }
  if (expires_at * 1000 <= nowMs) {
    return failure({
      reason: 'AttestationExpired',
      message: `attestation version ${version} expired at ${instant(expires_at)}`,
    });
  }
  return success({ isNew: true });
}
