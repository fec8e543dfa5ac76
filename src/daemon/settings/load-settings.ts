import { loadSigningKeys } from '../../attestation/keys.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import type { DaemonConfiguration } from './config.ts';
import type { SettingsLoader } from './daemon-settings.ts';

/**
 * Makes the function that reads a configuration and the keys that it names.
 *
 * @param readConfiguration reads every source of the configuration, or gives every problem
 * @returns gives the settings, or every problem, each naming the setting
 */
export function createSettingsLoader(
  readConfiguration: () => Result<{ readonly config: DaemonConfiguration }, readonly string[]>,
): SettingsLoader {
  return async () => {
    const read = readConfiguration();
    if (!read.ok) return read;
    const configuration = read.value.config;
    const loaded = await loadSigningKeys(configuration.attestation.signingKeyFiles);
    if (!loaded.ok) return failure(loaded.error.map((problem) => `attestation.signingKeyFiles: ${problem}`));
    return success({ configuration, signingKeys: loaded.value.keys, warnings: loaded.value.warnings });
  };
}
