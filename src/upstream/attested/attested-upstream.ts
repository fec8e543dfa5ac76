import { loadTrustedKeys, type TrustedKey } from '../../attestation/keys.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { AttestedSource } from '../../mirror/attested-source.ts';
import { MirrorError } from '../../mirror/mirror-error.ts';

export interface AttestedUpstream {
  readonly source: AttestedSource;
  /** Whether people bring its attestations, as in a bundle, so that one that has expired is still followed. */
  readonly isCarried?: boolean;
  readonly channels: readonly Channel[];
  /** Milliseconds between two polls. */
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

/**
 * Reads the public keys of an origin from the configured files.
 *
 * @throws MirrorError `origin_untrusted`, which names every problem
 */
export async function readConfiguredKeys(paths: readonly string[]): Promise<readonly TrustedKey[]> {
  const loaded = await loadTrustedKeys(paths);
  if (loaded.ok) return loaded.value;
  throw new MirrorError('origin_untrusted', `the trusted keys: ${loaded.error.join('; ')}`);
}
