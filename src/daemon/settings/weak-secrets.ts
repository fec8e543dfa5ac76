import { loadSigningKeys } from '../../attestation/keys.ts';
import { findWeakTokenFiles } from '../../platform/files/token-file.ts';
import { tokenFileOf, type DaemonConfiguration } from './config.ts';

/** Finds what makes the token and the keys of a configuration weak, one sentence for each finding, with its remedy. */
export async function findWeakSecrets(configuration: DaemonConfiguration): Promise<readonly string[]> {
  const tokenFile = tokenFileOf(configuration);
  const [keys, tokens] = await Promise.all([
    loadSigningKeys(configuration.attestation.signingKeyFiles),
    findWeakTokenFiles(tokenFile === null ? [] : [tokenFile]),
  ]);
  return [...(keys.ok ? keys.value.warnings : []), ...tokens];
}
