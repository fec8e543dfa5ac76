import type { ControlAction } from '../../contract/actions/actions.ts';
import { parseControlBody } from '../../contract/actions/parse-control-body.ts';
import { JsonError } from '../../contract/json/json-error.ts';
import { parseJsonExact, stringifyJsonExact } from '../../contract/json/json-exact.ts';
import { renderJsonSchema, type JsonSchema } from '../../contract/json/json-schema.ts';
import { ControlBodySchema } from '../../contract/actions/control-body.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { didYouMean } from '../../platform/terminal/usage-error.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';

/** A body as given on the command line. */
export interface BodyWords {
  readonly fields: readonly string[];
  /** A whole body as JSON text; `null` when it is built from the fields. */
  readonly json: string | null;
}

const PROPERTIES = (renderJsonSchema(ControlBodySchema)['properties'] ?? {}) as Readonly<
  Record<string, JsonSchema>
>;

/**
 * Builds the body of an action from the command line. The schema of a field decides how its text is read: as a number, a
 * boolean, an item of a list (repeat the field for more), or as JSON for an object; `field.member=value` sets a member of
 * an object. The body is checked by the rules of the service before anything is sent. The service ignores a field that the
 * action does not use; here it is refused, because the person who gave it expects an effect.
 *
 * @returns the JSON text to send, `null` for none
 * @throws CtlFailure that names every rejected field
 */
export function renderActionBody(action: ControlAction, words: BodyWords): string | null {
  if (words.json !== null && words.fields.length > 0) {
    throw new CtlFailure(CTL_EXITS.usage, 'give either field=value words or a whole body, not both');
  }
  const value = words.json === null ? bodyOfFields(words.fields) : parseText(words.json);
  const parsed = parseControlBody(action, value);
  if (!parsed.ok) {
    const lines = parsed.error.map(
      ({ pointer, message }) => `  ${pointer === '' ? 'body' : pointer}: ${message}`,
    );
    throw new CtlFailure(CTL_EXITS.usage, [`the body of ${action} is not valid:`, ...lines].join('\n'));
  }
  const [ignored] = parsed.value.ignoredFields;
  if (ignored !== undefined) {
    throw new CtlFailure(
      CTL_EXITS.usage,
      `${action} does not use ${ignored}; run ${action} --help lists its fields`,
    );
  }
  if (words.json !== null) return words.json;
  return words.fields.length === 0 ? null : stringifyJsonExact(value);
}

function bodyOfFields(fields: readonly string[]): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const word of fields) {
    const problem = setField(body, word);
    if (problem !== null) problems.push(problem);
  }
  if (problems.length > 0) throw new CtlFailure(CTL_EXITS.usage, problems.join('\n'));
  return body;
}

function setField(body: Record<string, unknown>, word: string): string | null {
  const at = word.indexOf('=');
  if (at <= 0) return `"${word}" is not of the form field=value`;
  const [name = '', member, ...deeper] = word.slice(0, at).split('.');
  const text = word.slice(at + 1);
  const schema = propertyOf(PROPERTIES, name);
  if (schema === null) return `${name}: a control body has no such field${fieldHint(name)}`;
  if (member === undefined) return setPlain(body, name, schema, text);
  const memberSchema = memberOf(schema, member);
  if (memberSchema === null || deeper.length > 0) return `${word.slice(0, at)}: ${name} has no such member`;
  const object = (body[name] ??= {}) as Record<string, unknown>;
  return setPlain(object, member, memberSchema, text, `${name}.${member}`);
}

function fieldHint(name: string): string {
  // The reference of the actions calls the dry run so, as an item of `args`.
  if (name === 'dry_run') return '; for a dry run, use the option --dry-run';
  return didYouMean(name, Object.keys(PROPERTIES)) || '; run ACTION --help lists the fields';
}

function setPlain(
  target: Record<string, unknown>,
  name: string,
  schema: JsonSchema,
  text: string,
  shown = name,
): string | null {
  if (schema['type'] === 'array' && itemType(schema) === 'string') {
    target[name] = [...((target[name] as unknown[] | undefined) ?? []), text];
    return null;
  }
  if (Object.hasOwn(target, name)) return `${shown}: given twice`;
  const value = parseValue(schema, text);
  if (!value.ok) return `${shown}: ${value.error}`;
  // A plain assignment to `__proto__` would be lost silently.
  Object.defineProperty(target, name, {
    value: value.value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
  return null;
}

function parseValue(schema: JsonSchema, text: string): Result<unknown, string> {
  switch (schema['type']) {
    case 'boolean':
      return text === 'true' || text === 'false'
        ? success(text === 'true')
        : failure('must be true or false');
    case 'integer':
      return /^-?\d{1,19}$/.test(text) ? success(exactInteger(text)) : failure('must be a decimal integer');
    case 'object':
    case 'array':
      try {
        return success(parseJsonExact(text, { strict: true }));
      } catch (error) {
        if (!(error instanceof JsonError)) throw error;
        return failure(`must be JSON: ${error.message}`);
      }
    default:
      return success(text);
  }
}

function exactInteger(text: string): number | bigint {
  const value = BigInt(text);
  return BigInt(Number(value)) === value && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function propertyOf(properties: Readonly<Record<string, JsonSchema>>, name: string): JsonSchema | null {
  return Object.hasOwn(properties, name) ? (properties[name] ?? null) : null;
}

function memberOf(schema: JsonSchema, member: string): JsonSchema | null {
  const properties = schema['properties'] as Readonly<Record<string, JsonSchema>> | undefined;
  if (properties !== undefined) return propertyOf(properties, member);
  const values = schema['additionalProperties'];
  return typeof values === 'object' && values !== null ? (values as JsonSchema) : null;
}

function itemType(schema: JsonSchema): unknown {
  return (schema['items'] as JsonSchema | undefined)?.['type'];
}

function parseText(json: string): unknown {
  try {
    return parseJsonExact(json, { strict: true });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new CtlFailure(CTL_EXITS.usage, `the body is not acceptable JSON: ${error.message}`);
  }
}
