import type { AttestedRelease, VerifiedAttestation } from './attestation.ts';
import type { Channel } from '../release/channel.ts';
import type { SnapshotId } from '../release/digest.ts';
import type { Reason } from './reasons.ts';
import type { ReleaseId } from '../release/release-id.ts';

/** Entries of one kind of trouble: how many, and the first few by name. */
export interface EntryTrouble {
  readonly count: number;
  readonly examples: readonly string[];
}

/** No trouble. */
export const NO_TROUBLE: EntryTrouble = { count: 0, examples: [] };

/** What is known of the snapshot bound to the authorized release, from reading the volume, never from a record of it. */
export interface SnapshotEvidence {
  readonly release_id: ReleaseId;
  readonly snapshot_id: SnapshotId;
  readonly manifest: 'loading' | 'ok' | 'missing' | 'damaged';
  /** What went wrong with the manifest, for people; empty when it is `ok` or `loading`. */
  readonly manifestMessage: string;
  readonly entryCount: number;
  /** Entries whose object is absent, of another size, or no regular file. */
  readonly missing: EntryTrouble;
  /** Entries whose bytes were found not to match, by anyone. */
  readonly damaged: EntryTrouble;
}

/** Why the newest envelope was not accepted. */
export interface AttestationRejection {
  readonly reason: Reason;
  readonly message: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Everything the verdict on one channel is made from. */
export interface Evidence {
  readonly channel: Channel;
  readonly attestation: {
    /** The last envelope that was accepted, or `null` when none was since the start of this process. */
    readonly accepted: VerifiedAttestation | null;
    /** Highest version ever accepted for this store by this process. */
    readonly highestVersion: number;
    /** Set while the newest envelope received is one that was refused. */
    readonly rejection: AttestationRejection | null;
  };
  /** `null` while nothing is bound. */
  readonly snapshot: SnapshotEvidence | null;
  /** The verdict before this one, for `since`. */
  readonly previous: Verdict | null;
}

/** The outcome of one check. */
export interface CheckResult {
  readonly name: string;
  readonly ok: boolean;
  readonly reason?: Reason;
  readonly message?: string;
}

/** Whether what leaves this server for a channel is exactly what was attested, and if not, why. */
export interface Verdict {
  readonly channel: Channel;
  readonly distributable: boolean;
  /** `null` exactly when distributable. */
  readonly reason: Reason | null;
  readonly message: string;
  /** Unix milliseconds since which the channel has been in this state (distributable, reason, release). */
  readonly since: number;
  readonly release_id: ReleaseId | null;
  readonly snapshot_id: SnapshotId | null;
  readonly attestation: {
    readonly version: number;
    readonly issued_at: number;
    readonly expires_at: number;
  } | null;
  readonly checks: readonly CheckResult[];
}

/** One small pure rule: what it found, or `null` when it is satisfied. */
export interface Check {
  readonly name: string;
  readonly run: (
    evidence: Evidence,
    nowMs: number,
  ) => { readonly reason: Reason; readonly message: string } | null;
}

/** The release of the evidence's channel that the accepted attestation authorizes, or `null`. */
export function authorizedRelease(evidence: Evidence): AttestedRelease | null {
  const statement = evidence.attestation.accepted?.statement;
  const attested = statement?.[evidence.channel] ?? null;
  return attested !== null && attested.result === 'PASSED' ? attested : null;
}
