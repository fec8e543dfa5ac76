import { isMap, isNode, isScalar, parseDocument } from 'yaml';
import { z } from 'zod';
import { failure, success, type Result } from '../../../domain/result.ts';
import { loadConfiguration } from '../../../platform/config/load-configuration.ts';
import { readConfigurationFile } from '../../../platform/config/run-configured.ts';
import { loadRules, RulesError, type LoadedRules } from '../rules/load-rules.ts';
import { parseConfigurationSchema, type ParseConfiguration } from '../rules/parse-config.ts';

const rulesFileSchema = z.strictObject({ parse: parseConfigurationSchema });

export interface RulesFile {
  readonly configuration: ParseConfiguration;
  readonly rules: LoadedRules;
}

/**
 * Blanks the other sections of a file that has a section `parse`: the configuration of a daemon has more of them. Line
 * numbers do not change.
 */
function onlyParseSection(text: string): string {
  const { contents, errors } = parseDocument(text, { logLevel: 'silent' });
  if (errors.length > 0 || !isMap(contents) || contents.flow === true || !contents.has('parse')) return text;
  let blanked = text;
  for (const [index, { key, value }] of contents.items.entries()) {
    if (!isScalar(key) || key.value === 'parse' || !key.range) continue;
    const next = contents.items[index + 1]?.key;
    const end =
      isScalar(next) && next.range
        ? next.range[0]
        : ((isNode(value) ? value.range?.[2] : undefined) ?? text.length);
    const [start] = key.range;
    blanked =
      blanked.slice(0, start) + blanked.slice(start, end).replaceAll(/[^\n]/g, ' ') + blanked.slice(end);
  }
  return blanked;
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
    readFile: (file) => onlyParseSection(readConfigurationFile(file)),
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
