import { z } from 'zod';
import { failure, success, type Result } from '../../../domain/result.ts';
import { loadConfiguration } from '../../../platform/config/load-configuration.ts';
import { keepSections } from '../../../platform/config/keep-sections.ts';
import { readConfigurationFile } from '../../../platform/config/run-configured.ts';
import { loadRules, RulesError, type LoadedRules } from '../rules/load-rules.ts';
import { parseConfigurationSchema, type ParseConfiguration } from '../rules/parse-config.ts';

const rulesFileSchema = z.strictObject({ parse: parseConfigurationSchema });

export interface RulesFile {
  readonly configuration: ParseConfiguration;
  readonly rules: LoadedRules;
}

/**
 * Reads a file of rules, which may be the whole configuration of a daemon, and the files that it names. Relative paths in it
 * start at the working directory, as they do for the daemon.
 *
 * @param path `null`: the default rules
 * @returns the rules, or one line for every problem, each naming the file and the line or the key
 */
export async function readRulesFile(path: string | null): Promise<Result<RulesFile, readonly string[]>> {
  const loaded = loadConfiguration({
    schema: rulesFileSchema,
    name: 'slipway parse',
    argv: path === null ? [] : [`--config=${path}`],
    env: {},
    readFile: (file) => keepSections(readConfigurationFile(file), ['parse']),
  });
  if (!loaded.ok) return failure(loaded.error);
  const configuration = loaded.value.config.parse;
  try {
    return success({ configuration, rules: await loadRules(configuration) });
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    return failure(error.problems.map((problem) => `config file ${path}: ${problem}`));
  }
}
