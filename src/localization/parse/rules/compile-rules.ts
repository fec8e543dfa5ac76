import { createFieldGlob } from '../../../domain/text/field-glob.ts';
import { createScriptTest } from '../../../domain/text/source-script.ts';
import { createFileTest, createGlobFilter } from '../../../platform/config/glob-filter.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { compileScript, type CompiledScript } from '../../../formats/script/compile-script.ts';
import { compileConditions, type FieldSelection } from './format-presets.ts';
import type { ParseRule, RuleFormat } from './parse-config.ts';
import { parsingPart, type LoadedRules, type ParsingPart } from './load-rules.ts';
import { formatHint } from '../../../formats/sniff.ts';
import { compileConstraints, type TextConstraints } from './text-constraints.ts';

export interface CompiledRule {
  readonly format: RuleFormat;
  readonly encoding: ParseRule['encoding'];
  readonly delimiter: ParseRule['delimiter'];
  readonly header: boolean;
  /** The patterns of the format `script`; `null` where the rule has none. */
  readonly script: CompiledScript | null;
  /** Each is the fields that identify a row together, in the order in which they are tried. */
  readonly rowKeys: readonly (readonly string[])[];
  readonly speakerFields: ReadonlySet<string>;
  readonly sceneFields: ReadonlySet<string>;
  readonly hasSourceScript: (text: string) => boolean;
  readonly isSelectedField: (fieldPath: string) => boolean;
  readonly meetsConditions: FieldSelection;
  /** The fields that the conditions of the rule are about. */
  readonly conditionFields: readonly string[];
  /** Whether it names the fields that are texts, so that nothing else decides. */
  readonly selectsFields: boolean;
  /** The format of the file inside a field; `undefined` where a field holds none. */
  readonly nestedFormat: (fieldName: string) => RuleFormat | undefined;
  readonly codec: string | null;
  readonly schema: Uint8Array | null;
  readonly typeTrees: Uint8Array | null;
  readonly password: (entry: string) => Uint8Array | null;
  readonly constraints: TextConstraints;
}

export interface RuleLookup {
  /** The first rule that matches a file; `entry` is `null` for a file that is in no archive. */
  readonly ruleFor: (destination: string, entry: string | null) => CompiledRule;
  readonly secrets: ReadonlyMap<string, Uint8Array>;
}

export interface CompiledRules extends RuleLookup {
  /** A digest of everything that decides how a destination is parsed. */
  digestFor(destination: string): Blake3Hex;
}

/** Fields that identify a row, where a rule names none. */
export const DEFAULT_ROW_KEYS = ['id', 'Id', 'ID', 'key', 'Key', 'm_Id', 'm_Key', 'Term'];
export const DEFAULT_SPEAKERS = [
  'speaker',
  'Speaker',
  'SpeakerName',
  'CharacterName',
  'speaker_name',
  'character_name',
];
export const DEFAULT_SCENES = ['scene', 'Scene', 'SceneId', 'scene_id'];

/**
 * The rule for files that no configured rule matches: what the schema of rules fills in, in its order, which decides digests. The
 * schema itself would be most of what a process that parses loads at its start.
 */
export const DEFAULT_RULE: ParseRule = {
  destination: ['**'],
  entry: [],
  format: 'auto',
  encoding: 'utf-8',
  delimiter: 'auto',
  conditions: [],
  header: true,
  include: [],
  exclude: [],
  nested: { m_Script: 'auto' },
  limits: [],
  repetitions: true,
  tags: 'unity-rich-text',
};

/** Prepares rules. The rule for everything else comes last. */
export function compileRules(loaded: LoadedRules): CompiledRules {
  const rules = [...loaded.configuration.rules, DEFAULT_RULE].map((rule) => ({
    rule,
    compiled: compileRule(rule, loaded),
    isDestination: createFileTest({ include: rule.destination, exclude: [] }),
    isEntry: createGlobFilter({ include: rule.entry, exclude: [] }),
  }));
  const digests = new Map<string, Blake3Hex>();
  return {
    secrets: loaded.secrets,
    ruleFor: (destination, entry) => {
      const found = rules.find(
        ({ isDestination, isEntry }) =>
          isDestination(destination) && (isEntry === null || (entry !== null && isEntry(entry))),
      );
      if (found === undefined) throw new Error('the default rule matches every file');
      return found.compiled;
    },
    digestFor: (destination) => {
      const matching = rules
        .filter(({ isDestination }) => isDestination(destination))
        .map(({ rule }) => parsingPart(rule));
      const hint = formatHint(destination);
      const key = JSON.stringify([hint, matching]);
      const digest = digests.get(key) ?? digestOf(matching, hint, loaded);
      digests.set(key, digest);
      return digest;
    },
  };
}

function compileRule(rule: ParseRule, { configuration, secrets, files }: LoadedRules): CompiledRule {
  const include = rule.include.map(createFieldGlob);
  const exclude = rule.exclude.map(createFieldGlob);
  const nested = new Map(Object.entries(rule.nested));
  const fileOf = (path: string | undefined): Uint8Array | null =>
    path === undefined ? null : (files.get(path) ?? null);
  return {
    format: rule.format,
    encoding: rule.encoding,
    delimiter: rule.delimiter,
    header: rule.header,
    script: rule.script === undefined ? null : compileScript(rule.script),
    rowKeys: (rule.rowKey ?? DEFAULT_ROW_KEYS).map((key) => (typeof key === 'string' ? [key] : key)),
    speakerFields: new Set(rule.speaker ?? DEFAULT_SPEAKERS),
    sceneFields: new Set(rule.scene ?? DEFAULT_SCENES),
    hasSourceScript: createScriptTest(rule.sourceScript ?? configuration.sourceScript),
    selectsFields: include.length > 0,
    isSelectedField: (path) =>
      (include.length === 0 || include.some((matches) => matches(path))) &&
      !exclude.some((matches) => matches(path)),
    meetsConditions: compileConditions(rule.conditions),
    conditionFields: rule.conditions.map(({ sibling }) => sibling),
    nestedFormat: (fieldName) => nested.get(fieldName),
    codec: rule.codec ?? null,
    schema: fileOf(rule.schema),
    typeTrees: fileOf(rule.typeTrees ?? configuration.typeTrees),
    password: passwordLookup(rule.password, secrets),
    constraints: compileConstraints(rule, fileOf(rule.charset)),
  };
}

function passwordLookup(
  password: ParseRule['password'],
  secrets: ReadonlyMap<string, Uint8Array>,
): (entry: string) => Uint8Array | null {
  if (password === undefined) return () => null;
  if (typeof password === 'string') return () => secrets.get(password) ?? null;
  const byGlob = Object.entries(password).map(([glob, name]) => ({
    matches: createFileTest({ include: [glob], exclude: [] }),
    name,
  }));
  return (entry) => secrets.get(byGlob.find(({ matches }) => matches(entry))?.name ?? '') ?? null;
}

function digestOf(
  rules: readonly ParsingPart[],
  hint: string,
  { configuration: { sourceScript, typeTrees: common }, secrets, files }: LoadedRules,
): Blake3Hex {
  const names = rules.flatMap(({ password, codec }) => [
    ...(typeof password === 'string' ? [password] : Object.values(password ?? {})),
    ...Array.from((codec ?? '').matchAll(/xor:([^+]*)/g), ([, name = '']) => name),
  ]);
  const paths = rules.flatMap(({ schema, typeTrees = common }) => [schema ?? [], typeTrees ?? []].flat());
  const digestsOf = (contents: ReadonlyMap<string, Uint8Array>, keys: readonly string[]): readonly string[] =>
    keys.map((key) => blake3Hex(contents.get(key) ?? new Uint8Array()));
  return blake3Hex(
    Buffer.from(
      JSON.stringify({
        rules,
        hint,
        sourceScript,
        rowKeys: DEFAULT_ROW_KEYS,
        speakers: DEFAULT_SPEAKERS,
        scenes: DEFAULT_SCENES,
        secrets: digestsOf(secrets, names),
        files: digestsOf(files, paths),
      }),
    ),
  );
}
