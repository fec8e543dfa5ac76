import { z } from 'zod';

interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  /** From `.meta({ secret: true })`. */
  readonly secret?: boolean;
}

/** One key that can be set in the file, the environment and by a flag. */
export interface ConfigurationKey {
  readonly path: readonly string[];
  /** The path with dots: key in messages, and the flag without its dashes. */
  readonly name: string;
  readonly env: string;
  readonly types: ReadonlySet<string>;
  /** JSON types of the items of a list. */
  readonly itemTypes: ReadonlySet<string>;
  /** Keys of the items of a list of mappings. */
  readonly itemKeys: readonly string[];
  /** The values that are allowed, when they can be listed. */
  readonly choices: readonly unknown[];
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly required: boolean;
  readonly default: unknown;
  readonly description: string;
  readonly secret: boolean;
}

interface ConfigurationSection {
  readonly path: readonly string[];
  readonly name: string;
  readonly required: boolean;
}

export interface ConfigurationModel {
  readonly keys: readonly ConfigurationKey[];
  readonly sections: readonly ConfigurationSection[];
}

/** Prefix of every environment variable. */
export const ENVIRONMENT_PREFIX = 'SLIPWAY_';

/**
 * Lists what a schema can be configured with. Variants of a union are merged: a key of any variant is a key.
 *
 * @throws Error when two keys would share one environment variable, which is a mistake in the schema
 */
export function describeConfiguration(schema: z.ZodType): ConfigurationModel {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SchemaNode;
  const keys: ConfigurationKey[] = [];
  const sections: ConfigurationSection[] = [];
  walk([root], [], true, { keys, sections });
  const byVariable = new Map<string, string>();
  for (const { env, name } of keys) {
    const other = byVariable.get(env);
    if (other !== undefined) throw new Error(`the keys ${other} and ${name} share the variable ${env}`);
    byVariable.set(env, name);
  }
  return { keys, sections };
}

/** `['cdn', 'defaultChannel']` gives `SLIPWAY_CDN_DEFAULT_CHANNEL`. */
export function environmentName(path: readonly string[]): string {
  const words = path.map((part) => part.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase());
  return ENVIRONMENT_PREFIX + words.join('_');
}

function variantsOf(node: SchemaNode): readonly SchemaNode[] {
  const inner = node.anyOf ?? node.oneOf;
  return inner === undefined ? [node] : inner.flatMap(variantsOf);
}

function walk(
  nodes: readonly SchemaNode[],
  path: readonly string[],
  required: boolean,
  into: { readonly keys: ConfigurationKey[]; readonly sections: ConfigurationSection[] },
): void {
  const variants = nodes.flatMap(variantsOf);
  const objects = variants.filter(({ properties }) => properties !== undefined);
  if (objects.length === 0) {
    into.keys.push(describeKey(nodes, variants, path, required));
    return;
  }
  if (path.length > 0) into.sections.push({ path, name: path.join('.'), required });
  for (const name of new Set(objects.flatMap(({ properties = {} }) => Object.keys(properties)))) {
    const holders = objects.filter(({ properties = {} }) => Object.hasOwn(properties, name));
    const inner = holders.flatMap(({ properties = {} }) => properties[name] ?? []);
    const everywhere =
      holders.length === objects.length &&
      holders.every((holder) => holder.required?.includes(name) === true);
    const present = required || nodes.some((node) => node.default !== undefined);
    walk(inner, [...path, name], present && everywhere, into);
  }
}

function describeKey(
  nodes: readonly SchemaNode[],
  variants: readonly SchemaNode[],
  path: readonly string[],
  required: boolean,
): ConfigurationKey {
  const first = <T>(pick: (node: SchemaNode) => T | undefined): T | undefined =>
    [...nodes, ...variants].map(pick).find((value) => value !== undefined);
  const items = variants.flatMap(({ items }) => (items === undefined ? [] : variantsOf(items)));
  return {
    path,
    name: path.join('.'),
    env: environmentName(path),
    types: new Set(variants.flatMap(typesOf)),
    itemTypes: new Set(items.flatMap(typesOf)),
    itemKeys: [...new Set(items.flatMap(({ properties = {} }) => Object.keys(properties)))],
    choices: [...new Set(variants.flatMap(choicesOf))],
    minimum: first(({ minimum }) => bound(minimum)),
    maximum: first(({ maximum }) => bound(maximum)),
    required,
    default: first((node) => node.default),
    description: first(({ description }) => description) ?? '',
    secret: [...nodes, ...variants].some(({ secret }) => secret === true),
  };
}

function typesOf({ type, const: only, enum: many }: SchemaNode): readonly string[] {
  if (type !== undefined) return typeof type === 'string' ? [type] : type;
  return (many ?? (only === undefined ? [] : [only])).map((value) =>
    value === null ? 'null' : typeof value,
  );
}

function choicesOf({ enum: many, const: only }: SchemaNode): readonly unknown[] {
  return many ?? (only === undefined ? [] : [only]);
}

/** Leaves out the bounds of a safe integer, which say nothing to a reader. */
function bound(value: number | undefined): number | undefined {
  return value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;
}

/** One value from one source, with the words that name where it was written. */
export interface Setting {
  readonly key: ConfigurationKey;
  readonly value: unknown;
  /** Such as `flag --cdn.host` or `environment SLIPWAY_CDN_HOST`. */
  readonly origin: string;
}

export interface ConfigurationLayer {
  readonly settings: readonly Setting[];
  /** Names of the keys that were given a value that cannot be read. */
  readonly rejected: readonly string[];
  readonly problems: readonly string[];
}

export type ConfigurationMapping = Record<string, unknown>;
