import { loadSigningKeys } from '../../attestation/keys.ts';
import { type Result, failure, success } from '../../domain/result.ts';
import { isOtherScript } from '../../domain/text/source-script.ts';
import { type DaemonConfiguration, effectiveConfiguration, tokenFileOf } from './config.ts';
import type { SettingsLoader } from './daemon-settings.ts';
import { openFilesProblem, readOpenFilesLimit } from '../../platform/process/open-files.ts';
import { daemonOpenFiles } from './module-settings.ts';
import { findWeakTokenFiles } from '../../platform/files/token-file.ts';

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
    const configuration = effectiveConfiguration(read.value.config);
    const loaded = await loadSigningKeys(configuration.attestation.signingKeyFiles);
    if (!loaded.ok) return failure(loaded.error.map((problem) => `attestation.signingKeyFiles: ${problem}`));
    const warnings = await findWeakSecrets(configuration);
    if (configuration.strict && warnings.length > 0) {
      return failure(warnings.map((warning) => `strict: ${warning}`));
    }
    const files = openFilesProblem(readOpenFilesLimit(), daemonOpenFiles(configuration));
    if (files?.isTooLow === true) return failure([files.message]);
    return success({
      configuration,
      signingKeys: loaded.value.keys,
      warnings: [...warnings, ...(files === null ? [] : [files.message]), ...languageWarnings(configuration)],
    });
  };
}

/** Finds what makes the token and the keys of a configuration weak, one sentence for each finding, with its remedy. */
export async function findWeakSecrets(configuration: DaemonConfiguration): Promise<readonly string[]> {
  const tokenFile = tokenFileOf(configuration);
  const [keys, tokens] = await Promise.all([
    loadSigningKeys(configuration.attestation.signingKeyFiles),
    findWeakTokenFiles(tokenFile === null ? [] : [tokenFile]),
  ]);
  return [...(keys.ok ? keys.value.warnings : []), ...tokens];
}

/** The file of rules names the script, but not the language, whose default may be another one. */
function languageWarnings({ parse, translation }: DaemonConfiguration): readonly string[] {
  const [{ sourceScript }, { sourceLanguage }] = [parse, translation];
  if (!isOtherScript(sourceScript, sourceLanguage)) return [];
  return [
    `translation.sourceLanguage is "${sourceLanguage}", but parse.sourceScript is "${sourceScript}", in which that language is not written; set both for the language of the game (SLIPWAY_TRANSLATION_SOURCE_LANGUAGE, SLIPWAY_PARSE_SOURCE_SCRIPT)`,
  ];
}
