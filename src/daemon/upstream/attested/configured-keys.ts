import { loadTrustedKeys, type TrustedKey } from '../../../attestation/keys.ts';
import { MirrorError } from '../../../mirror/mirror-error.ts';

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
