/** Turns a JSON Schema into the fields of a form, the typed values into the body, and a body into typed values; pure. */

import { isRecord } from '../../domain/is-record.ts';
import type { FieldSort } from '../../contract/actions/control-body.ts';
import type { FieldsSchema } from '../../contract/console/console-contract.ts';
import { parseExact, renderExact } from '../text/exact-json.ts';
import { words } from '../text/format.ts';

type FieldKind =
  | FieldSort
  | 'boolean'
  | 'choice'
  | 'integer'
  | 'text'
  | 'lines'
  | 'pairs'
  | 'group'
  | 'arguments'
  | 'json';

export interface Field {
  /** `source.source_kind` for the member of a group. */
  readonly path: string;
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly required: boolean;
  readonly help: string;
  readonly options: readonly string[];
  readonly members: readonly Field[];
  readonly minimum: bigint | null;
  readonly maximum: bigint | null;
  /** The switch of the same form that takes the value away, such as `clear_args`; `null` without one. */
  readonly clearedBy: string | null;
}

export type Values = Readonly<Record<string, string | boolean>>;

/** What is wrong with the field at a path; the empty path is the whole form. */
export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

export interface ReadBody {
  readonly values: Values;
  readonly lost: readonly string[];
}

interface FieldSchema {
  readonly 'x-kind'?: FieldSort;
  readonly 'x-clears'?: string;
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

/** Without a value when nothing was typed. */
interface Reading {
  readonly value?: unknown;
  readonly problems: readonly FieldProblem[];
}

export const ONCE = 'once';

/** The fields of a form, in the order of the schema. @param prefix of the paths */
export function fieldsOf(schema: FieldsSchema, prefix = ''): Field[] {
  const properties = Object.entries(schema.properties) as Array<[string, FieldSchema]>;
  return properties.map(([name, member]) => {
    const path = `${prefix}${name}`;
    const kind = kindOf(member);
    const [clear] = properties.find(([, each]) => each['x-clears'] === name) ?? [null];
    return {
      path,
      name,
      label: member.title ?? words(name),
      kind,
      required: schema.required.includes(name),
      help: member.description ?? '',
      options: kind === 'boolean' ? ['true', 'false'] : (member.enum ?? []),
      members:
        kind === 'group'
          ? fieldsOf({ required: member.required ?? [], properties: groupMembers(member) }, `${path}.`)
          : [],
      minimum: member.minimum === undefined ? null : BigInt(Math.ceil(member.minimum)),
      maximum: member.maximum === undefined ? null : BigInt(Math.floor(member.maximum)),
      clearedBy: clear,
    };
  });
}

function kindOf(schema: FieldSchema): FieldKind {
  if (schema.enum !== undefined) return 'choice';
  if (schema['x-kind'] !== undefined) return schema['x-kind'];
  switch (schema.type) {
    case 'boolean':
      return 'boolean';
    case 'integer':
      return 'integer';
    case 'string':
      return 'text';
    case 'array':
      return schema.items?.type === 'string' ? 'lines' : 'json';
    case 'object':
      return schema.properties === undefined ? 'pairs' : 'group';
    default:
      return 'json';
  }
}

function groupMembers(schema: FieldSchema): FieldsSchema['properties'] {
  return (schema.properties ?? {}) as FieldsSchema['properties'];
}

/** Amounts take numbers and texts; a pair is a text in any case. */
const KINDS_OF_PAIRS: { readonly [K in FieldKind]?: FieldKind } = {
  boolean: 'switch',
  json: 'text',
  prose: 'text',
};

/** A list of `key=value` texts as a field for each key. A switch that is off is left out. */
export function asArguments(field: Field, schema: FieldsSchema): Field {
  const members = fieldsOf(schema, `${field.path}.`).map((member) => ({
    ...member,
    kind: KINDS_OF_PAIRS[member.kind] ?? member.kind,
  }));
  return { ...field, kind: 'arguments', members };
}

/**
 * Reads a form. It finds only errors in the text itself; the server checks everything else and names the fields.
 *
 * @param unchanged initial values: optional fields that still have them are left out
 * @returns integers beyond 2^53 are bigint
 */
export function readFields(
  fields: readonly Field[],
  values: Values,
  unchanged: Values = {},
): { readonly body: Record<string, unknown>; readonly problems: readonly FieldProblem[] } {
  const body: Record<string, unknown> = {};
  const problems: FieldProblem[] = [];
  for (const field of fields) {
    if (isUntouched(field, values, unchanged) && !field.required) continue;
    const found = readField(field, values);
    problems.push(...found.problems);
    if (found.value !== undefined) body[field.name] = found.value;
    else if (isCleared(field, values, unchanged)) body[field.clearedBy ?? ''] = true;
    else if (field.required && found.problems.length === 0) {
      problems.push({ path: field.path, message: 'is required' });
    }
  }
  return { body, problems };
}

function isUntouched({ path, kind, members }: Field, values: Values, unchanged: Values): boolean {
  if (kind !== 'arguments' && kind !== 'group') {
    return unchanged[path] !== undefined && unchanged[path] === values[path];
  }
  const before = pathsBelow(path, unchanged);
  const paths = members.map((member) => member.path);
  const isSame = (key: string): boolean => (unchanged[key] ?? '') === (values[key] ?? '');
  // Another job has other arguments, and then the old ones cannot stay.
  return before.length > 0 && before.every((key) => paths.includes(key)) && paths.every(isSame);
}

function isCleared({ path, kind, clearedBy }: Field, values: Values, unchanged: Values): boolean {
  if (clearedBy === null) return false;
  if (kind === 'interval') return values[path] === ONCE && (unchanged[path] ?? ONCE) !== ONCE;
  return pathsBelow(path, unchanged).length > 0 || (unchanged[path] ?? '') !== '';
}

function pathsBelow(path: string, values: Values): string[] {
  return Object.keys(values).filter((key) => key.startsWith(`${path}.`) && values[key] !== '');
}

function readField(field: Field, values: Values): Reading {
  const { path, kind } = field;
  if (kind === 'group') return readGroup(field, values);
  if (kind === 'arguments') return readArguments(field, values);
  const typed = values[path];
  if (kind === 'switch') return typed === true ? { value: true, problems: [] } : { problems: [] };
  // Spaces around a text are part of it; around any other value they are a mistake.
  const isText = kind === 'text' || kind === 'prose';
  const text = isText ? String(typed ?? '') : String(typed ?? '').trim();
  if (text === '' || (kind === 'interval' && text === ONCE)) return { problems: [] };
  try {
    return { value: READERS[kind](text, field), problems: [] };
  } catch (error) {
    return { problems: [{ path, message: error instanceof Error ? error.message : String(error) }] };
  }
}

function readGroup({ members }: Field, values: Values): Reading {
  const isEmpty = members.every(({ path }) => values[path] === undefined || values[path] === '');
  if (isEmpty) return { problems: [] };
  const { body, problems } = readFields(members, values);
  return { value: body, problems };
}

function readArguments({ members }: Field, values: Values): Reading {
  const { body, problems } = readFields(members, values);
  const pairs = Object.entries(body).map(([key, value]) => `${key}=${String(value)}`);
  return pairs.length === 0 ? { problems } : { value: pairs, problems };
}

const READERS: Readonly<
  Record<Exclude<FieldKind, 'switch' | 'group' | 'arguments'>, (text: string, field: Field) => unknown>
> = {
  boolean: (text) => text === 'true',
  choice: (text) => text,
  text: (text) => text,
  prose: (text) => text,
  integer: readInteger,
  instant: readInteger,
  duration: readInteger,
  interval: readInteger,
  lines: linesOf,
  pairs: (text) =>
    Object.fromEntries(
      linesOf(text).map((line) => {
        const at = line.indexOf('=');
        if (at < 1) throw new Error(`"${line}" must have the form key=value`);
        return [line.slice(0, at), line.slice(at + 1)];
      }),
    ),
  json: readJson,
};

function readInteger(text: string, { kind, minimum, maximum }: Field): bigint {
  if (!/^-?\d{1,19}$/.test(text)) {
    throw new Error(kind === 'integer' ? 'must be a whole number in decimal digits' : 'must be a number');
  }
  const value = BigInt(text);
  if (minimum !== null && value < minimum) throw new Error(`must be at least ${minimum}`);
  if (maximum !== null && value > maximum) throw new Error(`must be at most ${maximum}`);
  return value;
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function readJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    throw new Error('must be JSON');
  }
}

/**
 * Puts a body into a form, the inverse of {@link readFields}.
 *
 * @returns the typed values, and the members that no field can show
 */
export function valuesOf(fields: readonly Field[], body: Readonly<Record<string, unknown>>): ReadBody {
  const values: Record<string, string | boolean> = {};
  const lost: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const field = fields.find((each) => each.name === name);
    if (field !== undefined) {
      const read = typedValue(field, value);
      Object.assign(values, read.values);
      lost.push(...read.lost);
      continue;
    }
    const cleared = fields.find(({ clearedBy }) => clearedBy === name);
    if (cleared?.kind === 'interval' && value === true) values[cleared.path] = ONCE;
    else lost.push(name);
  }
  return { values, lost };
}

function typedValue(field: Field, value: unknown): ReadBody {
  const { path, kind } = field;
  if (kind === 'group' && isRecord(value)) {
    const { values, lost } = valuesOf(field.members, value);
    return { values, lost: lost.map((name) => `${path}.${name}`) };
  }
  if (kind === 'arguments' && isTextList(value)) return argumentValues(field, value);
  const text = TYPED[kind]?.(value);
  return text === undefined ? { values: {}, lost: [path] } : { values: { [path]: text }, lost: [] };
}

/** Puts `key=value` texts into the fields of arguments. */
export function argumentValues({ path, members }: Field, pairs: readonly string[]): ReadBody {
  const values: Record<string, string | boolean> = {};
  const lost: string[] = [];
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const member = members.find(({ name }) => name === pair.slice(0, Math.max(at, 0)));
    const text = pair.slice(at + 1);
    if (member === undefined) lost.push(`${path} ${pair}`);
    else if (member.kind !== 'switch') values[member.path] = text;
    else if (text === 'true' || text === 'false') values[member.path] = text === 'true';
    else lost.push(`${path} ${pair}`);
  }
  return { values, lost };
}

const asNumber = (value: unknown): string | undefined =>
  typeof value === 'bigint' || Number.isInteger(value) ? String(value) : undefined;
const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A value as it is typed; `undefined` for one that the field cannot hold. */
const TYPED: { readonly [K in FieldKind]?: (value: unknown) => string | boolean | undefined } = {
  switch: (value) => (typeof value === 'boolean' ? value : undefined),
  boolean: (value) => (typeof value === 'boolean' ? String(value) : undefined),
  choice: asText,
  text: asText,
  prose: asText,
  integer: asNumber,
  instant: asNumber,
  duration: asNumber,
  interval: asNumber,
  lines: (value) => (isTextList(value) ? value.join('\n') : undefined),
  pairs: (value) =>
    isRecord(value) && Object.values(value).every((each) => typeof each === 'string')
      ? Object.entries(value)
          .map(([key, text]) => `${key}=${String(text)}`)
          .join('\n')
      : undefined,
  json: (value) => renderExact(value, 2),
};

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/**
 * Finds the field that an error of the server is about: the deepest field on the path to the error.
 *
 * @param pointer JSON pointer into the body, or the name of a parameter
 * @param args the `key=value` texts of the body, for errors about one of them
 * @returns its path; `null` when the error is about the whole body
 */
export function fieldAt(
  pointer: string,
  fields: readonly Field[],
  args: readonly string[] = [],
): string | null {
  let level = fields;
  let found: Field | null = null;
  for (const segment of pointer.split('/').filter((each) => each !== '')) {
    const field = memberAt(segment, level, found, args);
    if (field === undefined) break;
    found = field;
    level = field.members;
  }
  return found?.path ?? null;
}

function memberAt(
  segment: string,
  level: readonly Field[],
  parent: Field | null,
  args: readonly string[],
): Field | undefined {
  const [key] = parent?.kind === 'arguments' ? (args[Number(segment)] ?? '').split('=') : [segment];
  return level.find(({ name }) => name === key);
}
