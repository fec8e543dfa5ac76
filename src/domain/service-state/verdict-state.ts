import type { Reason } from '../verdict/reasons.ts';
import type { JudgedVerdict, ServiceStateName } from './service-state.ts';

/** The state of a verdict that fails with a reason, before other facts are considered. */
export const STATE_OF: Readonly<Record<Reason, ServiceStateName>> = {
  AttestationUnavailable: 'starting',
  AttestationInvalid: 'untrusted',
  AttestationNotYetValid: 'untrusted',
  AttestationExpired: 'expired',
  AttestationRolledBack: 'untrusted',
  ReleaseNotAuthorized: 'unpublished',
  SnapshotMissing: 'damaged',
  ManifestDamaged: 'damaged',
  SnapshotLoading: 'starting',
  EntryMissing: 'damaged',
  EntryDamaged: 'damaged',
  BaseReleaseChanged: 'stale',
};

/** Whether a verdict fails because of damage. */
export function isDamaged({ reason }: JudgedVerdict): boolean {
  return reason !== null && STATE_OF[reason] === 'damaged';
}
