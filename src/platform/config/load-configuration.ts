import type { z } from 'zod';
import { failure, success, type Result } from '../../domain/result.ts';
import { normalizeSections, parseConfigurationFile, sectionAt } from './configuration-file.ts';
import {
  type ConfigurationMapping,
  describeConfiguration,
  type ConfigurationModel,
  type Setting,
} from './configuration-key.ts';
import { readEnvironment } from './environment.ts';
import { explainIssues } from './explain-issues.ts';
import { parseFlags } from './flags.ts';
import { messageOf } from '../errors.ts';

interface ConfigurationSources<Schema extends z.ZodType> {
  /** A strict object schema; every key has a description, for messages and `--help`. */
  readonly schema: Schema;
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads the file named by `--config`; throws what the file system says. */
  readonly readFile: (path: string) => string;
}

export interface LoadedConfiguration<Config> {
  readonly config: Config;
  /** Whether `--print-config` was given. */
  readonly printRequested: boolean;
  readonly configFile: string | null;
}

/**
 * Loads a configuration: defaults of the schema, then the YAML or JSON file of `--config`, then `SLIPWAY_...` variables,
 * then flags; for each key, the last source wins.
 *
 * @returns the configuration, or one line for every problem of every source, each naming source and key and what to do
 */
export function loadConfiguration<Schema extends z.ZodType>(
  sources: ConfigurationSources<Schema>,
): Result<LoadedConfiguration<z.output<Schema>>, readonly string[]> {
  const model = describeConfiguration(sources.schema);
  const flags = parseFlags(sources.argv, model);
  const environment = readEnvironment(sources.env, model);
  const file = readMapping(flags.configFile, sources.readFile, model);
  const problems = [...file.problems, ...environment.problems, ...flags.problems];

  const settings = new Map<string, Setting>();
  for (const setting of [...environment.settings, ...flags.settings]) settings.set(setting.key.name, setting);
  const input = file.mapping;
  for (const { key, value } of settings.values()) assign(input, key.path, value);
  for (const { path, required } of model.sections) {
    // A section that is missing is judged by its keys, so that the message names what to write.
    if (required && sectionAt(input, path) === null) assign(input, path, {});
  }

  const parsed = sources.schema.safeParse(input);
  if (!parsed.success) {
    const rejected = new Set([...file.rejected, ...environment.rejected, ...flags.rejected]);
    const unread = (path: readonly string[]): boolean =>
      !file.readable || path.some((_part, at) => rejected.has(path.slice(0, at + 1).join('.')));
    problems.push(
      ...explainIssues(parsed.error.issues, {
        model,
        input,
        settings,
        configFile: flags.configFile,
        unread,
      }),
    );
  }
  if (problems.length > 0 || !parsed.success) return failure(problems);
  return success({
    config: parsed.data,
    printRequested: flags.printRequested,
    configFile: flags.configFile,
  });
}

interface FileLayer {
  readonly mapping: ConfigurationMapping;
  readonly readable: boolean;
  readonly rejected: readonly string[];
  readonly problems: readonly string[];
}

function readMapping(
  file: string | null,
  readFile: (path: string) => string,
  model: ConfigurationModel,
): FileLayer {
  if (file === null) return { mapping: {}, readable: true, rejected: [], problems: [] };
  const unreadable = { mapping: {}, readable: false, rejected: [] };
  let text: string;
  try {
    text = readFile(file);
  } catch (error) {
    const cause = messageOf(error);
    return { ...unreadable, problems: [`config file ${file}: cannot be read: ${cause}`] };
  }
  const parsed = parseConfigurationFile(text, file);
  if (!parsed.ok) return { ...unreadable, problems: parsed.error };
  return { mapping: parsed.value, readable: true, ...normalizeSections(parsed.value, model, file) };
}

function assign(mapping: ConfigurationMapping, path: readonly string[], value: unknown): void {
  let current = mapping;
  for (const part of path.slice(0, -1)) {
    const next = sectionAt(current, [part]) ?? {};
    current[part] = next;
    current = next;
  }
  const last = path.at(-1);
  if (last !== undefined) current[last] = value;
}
