import type { TrustedKey } from '../../../attestation/keys.ts';
import type { Channel } from '../../../domain/release/channel.ts';
import type { AttestedSource } from '../../../mirror/attested-source.ts';

/** An upstream whose releases are copied as they were signed, and how it is followed. */
export interface AttestedUpstream {
  readonly source: AttestedSource;
  /** Whether attestations are carried to it, so that one that has expired is still followed. */
  readonly isCarried?: boolean;
  readonly channels: readonly Channel[];
  /** Milliseconds between two looks. */
  readonly pollMs: number;
  /** Seconds for which the releases are served without a new attestation of the origin. */
  readonly maxAgeSeconds: number;
  /**
   * The keys that are trusted now.
   *
   * @throws MirrorError `origin_untrusted` when they cannot be read
   */
  trustedKeys(): Promise<readonly TrustedKey[]>;
}
