import type { Channel } from '../release/channel.ts';
import type { SnapshotId } from '../release/digest.ts';
import type { ReleaseId } from '../release/release-id.ts';
import type { ServerInfoDocument } from '../release/server-info-document.ts';
import type { Reason } from './reasons.ts';

/** The reasons for which a daemon withdraws a release. */
export const FAILURE_REASONS = [
  'SnapshotMissing',
  'ManifestDamaged',
  'EntryMissing',
  'EntryDamaged',
] as const satisfies readonly Reason[];

export interface ReleaseFailure {
  readonly reason: (typeof FAILURE_REASONS)[number];
  /** Damaged or missing entries; 0 when the manifest itself is at fault. */
  readonly entry_count: number;
  /** How many of them are missing, when others are damaged. */
  readonly missing_count?: number | undefined;
  /** Destinations of the first of them, at most {@link FAILURE_EXAMPLES}. */
  readonly examples: readonly string[];
}

/** Maximum number of destinations that a failure names. */
export const FAILURE_EXAMPLES = 5;

export interface AttestedRelease {
  readonly release_id: ReleaseId;
  readonly snapshot_id: SnapshotId;
  readonly entry_count: number;
  readonly total_bytes: number;
  /** Files that upstream lists and the mirror leaves out on purpose (`upstream.exclude`); absent when there are none. */
  readonly excluded_count?: number | undefined;
  /** Unix seconds at which the release was first registered; the Last-Modified of its bytes under its immutable path. */
  readonly created_at: number;
  /** Unix seconds of the verification behind this statement. */
  readonly verified_at: number;
  readonly verification: 'full';
  readonly result: 'PASSED' | 'FAILED';
  /** Only with the result FAILED. */
  readonly failure?: ReleaseFailure | undefined;
  readonly base_release_id?: ReleaseId;
  /** The server-info document of the release, `null` when it has none. */
  readonly server_info: ServerInfoDocument | null;
}

export interface CurrentAttestedRelease extends AttestedRelease {
  /**
   * Unix seconds at which the release became current: the Last-Modified of its bytes under the current path. Later than that of every
   * release that was current in the channel before, so it may lie in the future after the clock was set back.
   */
  readonly current_since: number;
}

/** A release beside the current ones that may be served under its immutable path: an earlier one, or an announced one. */
export interface RetainedRelease extends AttestedRelease {
  readonly channel: Channel;
  /** Unix seconds after which the release must no longer be served. */
  readonly retained_until: number;
  /**
   * Unix seconds at which the release becomes the current one of its channel; only for an announced one.
   */
  readonly current_at?: number | undefined;
}

/** A localized release that was made for an official release other than the current one. */
export interface StaleRelease {
  readonly release_id: ReleaseId;
  readonly base_release_id: ReleaseId;
}

export interface AttestationStatement {
  /** Strictly increasing for one store, never reused. */
  readonly version: number;
  readonly issued_at: number;
  readonly expires_at: number;
  readonly store_id: string;
  readonly verifier: { readonly id: string; readonly version: string; readonly boot_id: string };
  readonly official: CurrentAttestedRelease | null;
  readonly localized: CurrentAttestedRelease | null;
  /**
   * The release that is current in the localized channel and is left out because its base is not current; `null` when there is none.
   */
  readonly stale_localized: StaleRelease | null;
  /** An announced release is first, then in each channel the one that was current last. */
  readonly retained: readonly RetainedRelease[];
  readonly previous_payload_sha256: string | null;
}

export interface VerifiedAttestation {
  readonly statement: AttestationStatement;
  /** SHA-256 of the payload bytes, lower-case hexadecimal. */
  readonly payloadSha256: string;
  /** Key ids (SHA-256 of the SPKI DER) of the trusted keys that signed it. */
  readonly signedBy: readonly string[];
}

/** How far in the future `issued_at` may lie, in seconds. */
export const CLOCK_SKEW_SECONDS = 60;

/** Attestations that a daemon signs while one is valid: it renews each after a third of its validity. */
export const RENEWALS_PER_VALIDITY = 3;

/**
 * Whether a recorded time lies in the future, so that the clock is wrong now or was wrong then. Its age is not known, so it never
 * counts as recent.
 */
export function isInFuture(at: number, now: number): boolean {
  return at > now + CLOCK_SKEW_SECONDS;
}
