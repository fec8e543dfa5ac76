import type { RetentionLimits } from './records/retention-rules.ts';

/** The settings of releases. */
export interface ReleasesConfiguration {
  /** Validity of an attestation, in seconds; it is renewed after a third of that time. */
  readonly attestationTtlSeconds: number;
  /** Seconds after which the last full verification of a current release no longer supports an attestation. */
  readonly maxVerifyAgeSeconds: number;
  /** Age of the last full verification, in seconds, from which a current release is verified again at boot. */
  readonly verifyAtBootAfterSeconds: number;
  readonly retention: RetentionLimits & {
    /** Number of releases of a channel that a cleanup keeps. */
    readonly keep: number;
    /** Seconds for which an unreferenced object is kept. */
    readonly graceSeconds: number;
  };
  /** Number of entries fetched concurrently. */
  readonly downloadConcurrency: number;
  /** Number of objects hashed concurrently. */
  readonly verifyConcurrency: number;
  /** Bytes that a sync leaves free on the volume. */
  readonly reserveBytes: number;
  /** Seconds between the announcement of a release and its switch; 0: releases are not announced. */
  readonly announceSeconds: number;
  /** Seconds from the decision to switch early to the switch. */
  readonly switchLeadSeconds: number;
  /** Whether known damage is repaired without a request. */
  readonly automaticRepair: boolean;
}
