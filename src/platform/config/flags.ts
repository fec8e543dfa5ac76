import { closestName } from './closest-name.ts';
import { coerceText } from './coerce-text.ts';
import type {
  ConfigurationKey,
  ConfigurationModel,
  ConfigurationLayer,
  Setting,
} from './configuration-key.ts';

interface ParsedFlags extends ConfigurationLayer {
  /** The file after `--config`. */
  readonly configFile: string | null;
  readonly printRequested: boolean;
  readonly helpRequested: boolean;
}

interface Token {
  readonly name: string;
  readonly text: string | null;
}

const PRINT = 'print-config';
const CONFIG = 'config';

/**
 * Parses `--section.key=value`, `--section.key value`, `--section.flag` (true), `--config FILE`, `--print-config` and
 * `--help`. A list may be given several times; each adds to it.
 */
export function parseFlags(argv: readonly string[], model: ConfigurationModel): ParsedFlags {
  const byName = new Map(model.keys.map((key) => [key.name, key]));
  const { tokens, problems } = tokenize(argv, byName);
  const settings = new Map<string, Setting>();
  const rejected: string[] = [];
  let configFile: string | null = null;
  let printRequested = false;
  let helpRequested = false;
  for (const { name, text } of tokens) {
    const origin = `flag --${name}`;
    const key = byName.get(name);
    if (name === 'help') {
      helpRequested = true;
    } else if (name === PRINT) {
      printRequested = true;
      if (text !== null) problems.push(`${origin}: takes no value`);
    } else if (name === CONFIG) {
      if (text === null || text === '') problems.push(`${origin}: needs a file, as in --config FILE`);
      else if (configFile !== null) problems.push(`${origin}: given twice; give one file`);
      else configFile = text;
    } else if (key === undefined) {
      const meant = closestName(name, [...byName.keys()]);
      const hint = meant === null ? '--help lists all' : `did you mean --${meant}?`;
      problems.push(`${origin}: unknown flag; ${hint}`);
    } else {
      const problem = addSetting(settings, key, text);
      if (problem !== null) {
        rejected.push(name);
        problems.push(`${origin}: ${problem}`);
      }
    }
  }
  return { settings: [...settings.values()], rejected, problems, configFile, printRequested, helpRequested };
}

function addSetting(
  settings: Map<string, Setting>,
  key: ConfigurationKey,
  text: string | null,
): string | null {
  if (text === null && !key.types.has('boolean')) return `needs a value, as in --${key.name}=VALUE`;
  const coerced = coerceText(key.types, key.itemTypes, text ?? 'true');
  if (!coerced.ok) return coerced.error;
  const origin = `flag --${key.name}`;
  const earlier = settings.get(key.name)?.value;
  if (earlier === undefined) {
    settings.set(key.name, { key, value: coerced.value, origin });
    return null;
  }
  if (!Array.isArray(earlier) || !Array.isArray(coerced.value)) return 'given twice; give it once';
  const both: unknown[] = [...(earlier as unknown[]), ...(coerced.value as unknown[])];
  settings.set(key.name, { key, value: both, origin });
  return null;
}

function tokenize(
  argv: readonly string[],
  byName: ReadonlyMap<string, ConfigurationKey>,
): { readonly tokens: readonly Token[]; readonly problems: string[] } {
  const tokens: Token[] = [];
  const problems: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (word === '-h') {
      tokens.push({ name: 'help', text: null });
    } else if (!word.startsWith('--') || word === '--') {
      problems.push(
        `argument ${JSON.stringify(word)}: unexpected; flags are written --key=value, --help lists all`,
      );
    } else if (word.includes('=')) {
      const [name = ''] = word.slice(2).split('=', 1);
      tokens.push({ name, text: word.slice(name.length + 3) });
    } else {
      const name = word.slice(2);
      const next = argv[at + 1];
      const taken = next !== undefined && takesNext(name, next, byName) ? next : null;
      tokens.push({ name, text: taken });
      if (taken !== null) at += 1;
    }
  }
  return { tokens, problems };
}

function takesNext(name: string, next: string, byName: ReadonlyMap<string, ConfigurationKey>): boolean {
  if (next.startsWith('--') || name === 'help' || name === PRINT) return false;
  const types = byName.get(name)?.types;
  return types?.has('boolean') !== true || next === 'true' || next === 'false';
}
