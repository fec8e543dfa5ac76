import {
  CLOCK_SKEW_SECONDS,
  type AttestationStatement,
  type AttestedRelease,
} from '../../domain/verdict/attestation.ts';
import type { Reason } from '../../domain/verdict/reasons.ts';
import type { Servable } from './serving.ts';
import type { VolumeState } from './snapshot-volume.ts';
import type { SnapshotTrouble } from './trouble.ts';

/** The answer that lets bytes leave. */
export const SERVABLE: Servable = { ok: true };

/** What the soundness of a retained release is judged by. */
export interface RetainedEvidence {
  readonly statement: AttestationStatement | null;
  readonly volume: VolumeState;
  readonly entryCount: number;
  readonly trouble: SnapshotTrouble;
  readonly nowMs: number;
}

/**
 * Decides whether a retained release may leave: like a current one, its attestation must be valid and it must be
 * whole; beyond that its time must not be over.
 */
export function retainedServable(
  release: AttestedRelease & { readonly retained_until?: number },
  { statement, volume, entryCount, trouble, nowMs }: RetainedEvidence,
): Servable {
  const refuse = (reason: Reason, message: string): Servable => ({ ok: false, reason, message });
  const name = `retained release ${release.release_id}`;
  if (statement === null) return refuse('AttestationUnavailable', 'no attestation is held');
  if (statement.issued_at * 1000 > nowMs + CLOCK_SKEW_SECONDS * 1000)
    return refuse('AttestationNotYetValid', 'the attestation is dated in the future');
  if (statement.expires_at * 1000 <= nowMs)
    return refuse('AttestationExpired', 'the attestation has expired');
  if (release.retained_until === undefined || release.retained_until * 1000 <= nowMs)
    return refuse('ReleaseNotAuthorized', `the time of ${name} is over`);
  if (!volume.ok) return refuse('SnapshotMissing', volume.message);
  if (entryCount !== release.entry_count)
    return refuse('ManifestDamaged', `the manifest of ${name} has another number of entries than attested`);
  if (trouble.missing.count > 0)
    return refuse('EntryMissing', `${name} has no usable object for ${trouble.missing.examples.join(', ')}`);
  if (trouble.damaged.count > 0)
    return refuse('EntryDamaged', `${name} has damaged bytes: ${trouble.damaged.examples.join(', ')}`);
  return SERVABLE;
}
