/** Turns the JSON Schema of an action into the fields of its form, and the typed values into the body; pure. */

import { parseExact } from './exact-json.js';

/** @import { FieldsSchema } from '../dashboard-contract.ts' */

/**
 * @typedef {'switch' | 'boolean' | 'choice' | 'integer' | 'text' | 'prose' | 'lines' | 'pairs' | 'group' | 'json'} FieldKind
 *
 * @typedef {object} Field
 * @property {string} path `source.source_kind` for the member of a group
 * @property {string} name
 * @property {FieldKind} kind
 * @property {boolean} required
 * @property {string} help
 * @property {readonly string[]} options of a choice
 * @property {readonly Field[]} members of a group
 * @property {bigint | null} minimum
 * @property {bigint | null} maximum
 *
 * @typedef {Readonly<Record<string, string | boolean>>} Values typed values, by path
 * @typedef {{ readonly path: string, readonly message: string }} FieldProblem
 *
 * @typedef {object} FieldSchema the part of JSON Schema that the contract uses
 * @property {string} [type]
 * @property {string} [description]
 * @property {readonly string[]} [enum]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {number} [maxLength]
 * @property {FieldSchema} [items]
 * @property {Readonly<Record<string, FieldSchema>>} [properties]
 * @property {readonly string[]} [required]
 * @property {unknown} [additionalProperties]
 */

/** Longer texts get a box of several lines. */
const LONG_TEXT = 8192;

/**
 * @param {FieldsSchema} schema
 * @param {readonly string[]} [switches] booleans for which only `true` has a meaning
 * @param {string} [prefix]
 * @returns {Field[]} in the order of the schema
 */
export function fieldsOf(schema, switches = [], prefix = '') {
  return Object.entries(schema.properties).map(([name, property]) => {
    const member = /** @type {FieldSchema} */ (property);
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

/**
 * @param {FieldSchema} schema
 * @param {boolean} isSwitch
 * @returns {FieldKind}
 */
function kindOf(schema, isSwitch) {
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

/** @param {FieldSchema} schema */
function groupMembers(schema) {
  return /** @type {FieldsSchema['properties']} */ (schema.properties ?? {});
}

/**
 * Reads a form. It finds only errors in the text itself; the server checks everything else and names the fields.
 *
 * @param {readonly Field[]} fields
 * @param {Values} values
 * @param {Values} [unchanged] initial values: optional fields that still have them are left out
 * @returns {{ body: Record<string, unknown>, problems: FieldProblem[] }} integers beyond 2^53 are bigint
 */
export function readFields(fields, values, unchanged = {}) {
  /** @type {Record<string, unknown>} */
  const body = {};
  /** @type {FieldProblem[]} */
  const problems = [];
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

/**
 * @typedef {{ readonly value?: unknown, readonly problems: readonly FieldProblem[] }} Reading without a value when
 * nothing was typed
 */

/**
 * @param {Field} field
 * @param {Values} values
 * @returns {Reading}
 */
function readField(field, values) {
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

/**
 * @param {Field} field
 * @param {Values} values
 * @returns {Reading}
 */
function readGroup({ members }, values) {
  const isEmpty = members.every(({ path }) => values[path] === undefined || values[path] === '');
  if (isEmpty) return { problems: [] };
  const { body, problems } = readFields(members, values);
  return { value: body, problems };
}

/** @type {Readonly<Record<Exclude<FieldKind, 'switch' | 'group'>, (text: string, field: Field) => unknown>>} */
const READERS = {
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

/**
 * @param {string} text
 * @param {Field} field
 */
function readInteger(text, { minimum, maximum }) {
  if (!/^-?\d{1,19}$/.test(text)) throw new Error('must be a whole number in decimal digits');
  const value = BigInt(text);
  if (minimum !== null && value < minimum) throw new Error(`must be at least ${minimum}`);
  if (maximum !== null && value > maximum) throw new Error(`must be at most ${maximum}`);
  return value;
}

/** @param {string} text */
function linesOf(text) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** @param {string} text */
function readJson(text) {
  try {
    return parseExact(text);
  } catch {
    throw new Error('must be JSON');
  }
}

/**
 * Finds the field that an error of the server is about: the deepest field on the path to the error.
 *
 * @param {string} pointer JSON pointer into the body, or the name of a parameter
 * @param {readonly Field[]} fields
 * @returns {string | null} its path; `null` when the error is about the whole body
 */
export function fieldAt(pointer, fields) {
  const segments = pointer.split('/').filter((segment) => segment !== '');
  let [level, path] = [fields, /** @type {string | null} */ (null)];
  for (const segment of segments) {
    const field = level.find(({ name }) => name === segment);
    if (field === undefined) break;
    path = field.path;
    level = field.members;
  }
  return path;
}

/**
 * A value of the contract as text in a field.
 *
 * @param {string | number | bigint | readonly string[] | null} value
 * @returns {string}
 */
export function typedText(value) {
  if (value === null) return '';
  return typeof value === 'object' ? value.join('\n') : String(value);
}
