import type { z } from 'zod';
import { closestName } from './closest-name.ts';
import { sectionAt } from './configuration-file.ts';
import type {
  ConfigurationMapping,
  ConfigurationKey,
  ConfigurationModel,
  Setting,
} from './configuration-key.ts';
import { redactValue } from './redact.ts';

type Issue = z.core.$ZodIssue;

/** Where the values came from that a schema judged. */
interface Provenance {
  readonly model: ConfigurationModel;
  readonly input: ConfigurationMapping;
  /** The settings of environment and flags that are in effect, by key name. */
  readonly settings: ReadonlyMap<string, Setting>;
  readonly configFile: string | null;
  readonly unread: (path: readonly string[]) => boolean;
}

const LONGEST_SHOWN = 80;
const MISSING = /^Invalid input: expected .*, received undefined$/;

/** Renders what a schema found, one line a problem: source, key, what is wrong, and what the key is for. */
export function explainIssues(issues: readonly Issue[], provenance: Provenance): readonly string[] {
  return issues.flatMap((issue) => explainIssue(issue, provenance));
}

function explainIssue(issue: Issue, provenance: Provenance): readonly string[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const known = knownBelow(path, provenance.model);
    const itemKeys = itemKeysAt(path, provenance.model);
    return issue.keys.map((key) => {
      const meant = closestName(key, [...known, ...itemKeys]);
      // The help does not go into lists.
      const all = itemKeys.length === 0 ? '--help lists all keys' : `known: ${itemKeys.join(', ')}`;
      const hint = meant === null ? all : `did you mean "${meant}"?`;
      return `${origin([...path, key], provenance)}: unknown key; ${hint}`;
    });
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // The variant with the fewest problems is the one that was meant.
    const [closest = []] = [...issue.errors].sort((left, right) => left.length - right.length);
    return closest.flatMap((inner) =>
      explainIssue({ ...inner, path: [...issue.path, ...inner.path] }, provenance),
    );
  }
  const key = keyAt(path, provenance.model);
  const value = valueAt(provenance.input, path);
  if (value === undefined) {
    return provenance.unread(path) ? [] : [explainMissing(issue.message, path, key, provenance)];
  }
  const shown = JSON.stringify(redactValue(value, key?.secret ?? false)) ?? '';
  const got = shown.length > LONGEST_SHOWN ? '' : ` (got ${shown})`;
  return [`${origin(path, provenance)}: ${lowerFirst(issue.message)}${got}${purpose(key)}`];
}

function explainMissing(
  message: string,
  path: readonly string[],
  key: ConfigurationKey | undefined,
  { configFile }: Provenance,
): string {
  const name = path.join('.');
  const isKey = key?.path.length === path.length;
  const ways = !isKey ? '' : `; set it in the file, as ${key.env} or as --${key.name}=VALUE`;
  const where = configFile === null ? 'configuration' : `config file ${configFile}`;
  const what = MISSING.test(message) ? 'is required' : lowerFirst(message);
  return `${where}: ${name}: ${what}${ways}${purpose(key)}`;
}

function origin(path: readonly string[], { settings, configFile }: Provenance): string {
  const name = path.join('.');
  for (let length = path.length; length > 0; length -= 1) {
    const setting = settings.get(path.slice(0, length).join('.'));
    if (setting === undefined) continue;
    const rest = path.slice(length).join('.');
    return rest === '' ? setting.origin : `${setting.origin}: item ${rest}`;
  }
  return configFile === null ? `configuration: ${name}` : `config file ${configFile}: ${name}`;
}

/** The key at a path, also for a path into its value. */
function keyAt(path: readonly string[], model: ConfigurationModel): ConfigurationKey | undefined {
  return model.keys.find((key) => key.path.every((part, at) => part === path[at]));
}

function knownBelow(path: readonly string[], model: ConfigurationModel): readonly string[] {
  const below = [...model.sections, ...model.keys]
    .filter((item) => item.path.length === path.length + 1)
    .filter((item) => path.every((part, at) => part === item.path[at]));
  return below.map((item) => item.path.at(-1) ?? '');
}

function itemKeysAt(path: readonly string[], model: ConfigurationModel): readonly string[] {
  const key = keyAt(path, model);
  return key !== undefined && key.path.length === path.length - 1 ? key.itemKeys : [];
}

function valueAt(input: ConfigurationMapping, path: readonly string[]): unknown {
  const parent = sectionAt(input, path.slice(0, -1));
  if (parent !== null) return parent[path.at(-1) ?? ''];
  let current: unknown = input;
  for (const part of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<string, unknown>)[part];
  }
  return current;
}

function purpose(key: ConfigurationKey | undefined): string {
  return key === undefined || key.description === '' ? '' : `. ${key.description}`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
