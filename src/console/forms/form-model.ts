/** Turns the JSON Schema of an action into the fields of its form, and the typed values into the body; pure. */

import type { FieldsSchema } from '../../contract/console/console-contract.ts';
import { parseExact } from '../text/exact-json.ts';

export type FieldKind =
  | 'switch'
  | 'boolean'
  | 'choice'
  | 'integer'
  | 'text'
  | 'prose'
  | 'lines'
  | 'pairs'
  | 'group'
  | 'json';

/** One field of a form. */
export interface Field {
  /** `source.source_kind` for the member of a group. */
  readonly path: string;
  readonly name: string;
  readonly kind: FieldKind;
  readonly required: boolean;
  readonly help: string;
  /** Of a choice. */
  readonly options: readonly string[];
  /** Of a group. */
  readonly members: readonly Field[];
  readonly minimum: bigint | null;
  readonly maximum: bigint | null;
}

/** Typed values, by path. */
export type Values = Readonly<Record<string, string | boolean>>;

/** What is wrong with the field at a path; the empty path is the whole form. */
export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

/** The part of JSON Schema that the contract uses. */
interface FieldSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

/** Without a value when nothing was typed. */
interface Reading {
  readonly value?: unknown;
  readonly problems: readonly FieldProblem[];
}

/** Longer texts get a box of several lines. */
const LONG_TEXT = 8192;

/**
 * The fields of a form, in the order of the schema.
 *
 * @param switches booleans for which only `true` has a meaning
 * @param prefix of the paths
 */
export function fieldsOf(schema: FieldsSchema, switches: readonly string[] = [], prefix = ''): Field[] {
  return Object.entries(schema.properties).map(([name, property]) => {
    const member = property as FieldSchema;
    const path = `${prefix}${name}`;
    const kind = kindOf(member, switches.includes(name));
    return {
      path,
      name,
      kind,
      required: schema.required.includes(name),
      help: member.description ?? '',
      options: kind === 'boolean' ? ['true', 'false'] : (member.enum ?? []),
      members:
        kind === 'group'
          ? fieldsOf(
              { required: member.required ?? [], properties: groupMembers(member) },
              switches,
              `${path}.`,
            )
          : [],
      minimum: member.minimum === undefined ? null : BigInt(Math.ceil(member.minimum)),
      maximum: member.maximum === undefined ? null : BigInt(Math.floor(member.maximum)),
    };
  });
}

function kindOf(schema: FieldSchema, isSwitch: boolean): FieldKind {
  if (schema.enum !== undefined) return 'choice';
  switch (schema.type) {
    case 'boolean':
      return isSwitch ? 'switch' : 'boolean';
    case 'integer':
      return 'integer';
    case 'string':
      return (schema.maxLength ?? 0) > LONG_TEXT ? 'prose' : 'text';
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
    const isUntouched = unchanged[field.path] !== undefined && unchanged[field.path] === values[field.path];
    if (isUntouched && !field.required) continue;
    const found = readField(field, values);
    problems.push(...found.problems);
    if (found.value !== undefined) body[field.name] = found.value;
    else if (field.required && found.problems.length === 0) {
      problems.push({ path: field.path, message: 'is needed' });
    }
  }
  return { body, problems };
}

function readField(field: Field, values: Values): Reading {
  const { path, kind } = field;
  if (kind === 'group') return readGroup(field, values);
  const typed = values[path];
  if (kind === 'switch') return typed === true ? { value: true, problems: [] } : { problems: [] };
  // Spaces around a text are part of it; around any other value they are a mistake.
  const isText = kind === 'text' || kind === 'prose';
  const text = isText ? String(typed ?? '') : String(typed ?? '').trim();
  if (text === '') return { problems: [] };
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

const READERS: Readonly<
  Record<Exclude<FieldKind, 'switch' | 'group'>, (text: string, field: Field) => unknown>
> = {
  boolean: (text) => text === 'true',
  choice: (text) => text,
  text: (text) => text,
  prose: (text) => text,
  integer: readInteger,
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

function readInteger(text: string, { minimum, maximum }: Field): bigint {
  if (!/^-?\d{1,19}$/.test(text)) throw new Error('must be a whole number in decimal digits');
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
 * Finds the field that an error of the server is about: the deepest field on the path to the error.
 *
 * @param pointer JSON pointer into the body, or the name of a parameter
 * @returns its path; `null` when the error is about the whole body
 */
export function fieldAt(pointer: string, fields: readonly Field[]): string | null {
  const segments = pointer.split('/').filter((segment) => segment !== '');
  let level = fields;
  let path: string | null = null;
  for (const segment of segments) {
    const field = level.find(({ name }) => name === segment);
    if (field === undefined) break;
    path = field.path;
    level = field.members;
  }
  return path;
}

/** A value of the contract as text in a field. */
export function typedText(value: string | number | bigint | readonly string[] | null): string {
  if (value === null) return '';
  return typeof value === 'object' ? value.join('\n') : String(value);
}
