import { readFile } from 'node:fs/promises';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import { messageOf } from '../../../platform/errors.ts';
import { createStringCodec } from '../../../formats/codecs/string-codec.ts';
import { readBinarySchema } from '../../../formats/flatbuffers/binary-schema.ts';
import { readTypeTreeFile } from '../../../formats/unity/type-tree-file.ts';
import { READ_LIMITS } from '../../../formats/value-visitor.ts';
import type { ParseConfiguration, ParseRule } from './parse-config.ts';
import { compileConstraints } from './text-constraints.ts';
import { failure, success, type Result } from '../../../domain/result.ts';

interface RuleSettings {
  readonly rules: readonly ParseRule[];
  readonly sourceScript: ParseConfiguration['sourceScript'];
  readonly stableNames: readonly string[];
  readonly typeTrees?: string | undefined;
}

/** The rules with the contents of the files that they name. Plain data, so that it can be sent to another process. */
export interface LoadedRules {
  readonly configuration: RuleSettings;
  /** Contents of secrets by name, and of schemas, type trees and character sets by path. */
  readonly secrets: ReadonlyMap<string, Uint8Array>;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** Files that the rules name cannot be read. */
export class RulesError extends Error {
  readonly problems: readonly string[];

  /** @param problems one line each: the setting, the file and what is wrong */
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'RulesError';
    this.problems = problems;
  }
}

const MAX_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Reads the files that the rules name. A line break at the end of a secret does not belong to it.
 *
 * @throws RulesError that names every unusable file and its setting
 */
export async function loadRules(configuration: ParseConfiguration): Promise<LoadedRules> {
  const problems: string[] = [];
  const secrets = new Map<string, Uint8Array>();
  for (const [name, path] of Object.entries(configuration.secrets)) {
    const bytes = await readNamed(path, `parse.secrets.${name}`, problems);
    const lineBreak = /\r?\n?$/.exec(bytes?.toString('latin1') ?? '')?.[0] ?? '';
    if (bytes !== null) secrets.set(name, bytes.subarray(0, bytes.length - lineBreak.length));
  }
  const files = new Map<string, Uint8Array>();
  for (const [index, { schema, typeTrees, charset }] of configuration.rules.entries()) {
    for (const [setting, path] of Object.entries({ schema, typeTrees, charset })) {
      if (path === undefined) continue;
      const bytes = await readNamed(path, `parse.rules[${index}].${setting}`, problems);
      if (bytes !== null) files.set(path, bytes);
    }
  }
  const { rules, sourceScript, stableNames, typeTrees } = configuration;
  if (typeTrees !== undefined) {
    const bytes = await readNamed(typeTrees, 'parse.typeTrees', problems);
    if (bytes !== null) files.set(typeTrees, bytes);
  }
  const settings = { rules, sourceScript, stableNames };
  const loaded = {
    configuration: typeTrees === undefined ? settings : { ...settings, typeTrees },
    secrets,
    files,
  };
  if (problems.length === 0) checkContents(loaded, problems);
  if (problems.length > 0) throw new RulesError(problems);
  return loaded;
}

/** Reads what the rules name once, so that a mistake stops the run before the first container. */
function checkContents(
  { configuration: { rules, typeTrees: common }, secrets, files }: LoadedRules,
  problems: string[],
): void {
  const check = (setting: string, read: () => unknown): void => {
    try {
      read();
    } catch (error) {
      problems.push(`${setting}: ${messageOf(error)}`);
    }
  };
  const checkTrees = (setting: string, path: string): void => {
    check(setting, () => readTypeTreeFile(contentOf(files, path).toString(), READ_LIMITS.depth));
  };
  if (common !== undefined) checkTrees('parse.typeTrees', common);
  for (const [index, rule] of rules.entries()) {
    const { codec, schema, typeTrees, charset } = rule;
    const setting = `parse.rules[${index}]`;
    if (codec !== undefined) check(`${setting}.codec`, () => createStringCodec(codec, secrets));
    if (schema !== undefined) check(`${setting}.schema`, () => readBinarySchema(contentOf(files, schema)));
    if (typeTrees !== undefined) checkTrees(`${setting}.typeTrees`, typeTrees);
    if (charset !== undefined) {
      check(`${setting}.charset`, () => compileConstraints(rule, contentOf(files, charset)));
    }
  }
}

function contentOf(files: LoadedRules['files'], path: string): Buffer {
  return Buffer.from(files.get(path) ?? []);
}

/** `null`, with a problem, when the file cannot be read. */
async function readNamed(path: string, setting: string, problems: string[]): Promise<Buffer | null> {
  try {
    const bytes = await readFile(path);
    if (bytes.length <= MAX_FILE_BYTES) return bytes;
    problems.push(`${setting}: ${path} is larger than ${MAX_FILE_BYTES} bytes`);
  } catch (error) {
    problems.push(`${setting}: ${path} cannot be read: ${messageOf(error)}`);
  }
  return null;
}

/** A rule without the parts that only translations depend on; the rest decides which texts are found. */
export type ParsingPart = Omit<ParseRule, 'limits' | 'charset' | 'tags' | 'repetitions'>;

export function parsingPart(rule: ParseRule): ParsingPart {
  const { limits: _limits, charset: _charset, tags: _tags, repetitions: _repetitions, ...rest } = rule;
  return rest;
}

/** A digest of everything in the rules that decides which texts are found and how they are identified. */
export function rulesDigest({ configuration, secrets, files }: LoadedRules): Blake3Hex {
  const rules = configuration.rules.map(parsingPart);
  const read = new Set([configuration.typeTrees, ...rules.flatMap((rule) => [rule.schema, rule.typeTrees])]);
  const contents = [...secrets, ...[...files].filter(([path]) => read.has(path))].map(([name, bytes]) => [
    name,
    blake3Hex(bytes),
  ]);
  return blake3Hex(Buffer.from(JSON.stringify([{ ...configuration, rules }, contents])));
}

export type RulesState = Result<Blake3Hex, readonly string[]>;

async function readRulesState(configuration: ParseConfiguration): Promise<RulesState> {
  try {
    return success(rulesDigest(await loadRules(configuration)));
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    return failure(error.problems);
  }
}

/** Every problem of the files that the rules name; empty when a run can use the rules. */
export async function problemsOfRules(configuration: ParseConfiguration): Promise<readonly string[]> {
  const state = await readRulesState(configuration);
  return state.ok ? [] : state.error;
}

/**
 * Creates a function that reads the rules of the current configuration.
 *
 * @returns with `true` it may answer with what it read before for the same configuration: schemas can be large
 */
export function createRulesState(
  configuration: () => ParseConfiguration,
): (mayBeOld: boolean) => Promise<RulesState> {
  let last: { readonly configuration: ParseConfiguration; readonly state: RulesState } | null = null;
  return async (mayBeOld) => {
    const current = configuration();
    if (mayBeOld && last?.configuration === current) return last.state;
    last = { configuration: current, state: await readRulesState(current) };
    return last.state;
  };
}
