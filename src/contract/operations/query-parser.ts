import type { z } from 'zod';
import { failure, success, type Result } from '../../domain/result.ts';
import { fieldErrorsOf } from '../problems/field-errors.ts';
import type { QuerySchema } from '../schemas/query.ts';
import type { FieldError } from '../problems/service-error.ts';
import { stringifyJsonExact } from '../json/json-exact.ts';

/** The query parameter that may carry the token; it is a credential, never part of an operation's query. */
export const TOKEN_PARAMETER = 'svc_token';

/**
 * Parses the query of one operation: integers and booleans strictly from text, bounds, required parameters. A
 * declared parameter must not be repeated; unknown ones are refused or ignored as the schema says.
 *
 * @returns the typed values, which must not be changed, or every rejected parameter by name
 */
export function parseQuery<T extends QuerySchema>(
  schema: T,
  parameters: URLSearchParams,
): Result<z.infer<T>, FieldError[]> {
  if (parameters.size > 0) return parseParameters(schema, parameters);
  // Probes and polls have none, and what none means is the same each time.
  let result = withoutParameters.get(schema);
  if (result === undefined) {
    result = parseParameters(schema, parameters);
    withoutParameters.set(schema, result);
  }
  return result as Result<z.infer<T>, FieldError[]>;
}

const withoutParameters = new WeakMap<QuerySchema, Result<unknown, FieldError[]>>();

function parseParameters<T extends QuerySchema>(
  schema: T,
  parameters: URLSearchParams,
): Result<z.infer<T>, FieldError[]> {
  const raw: Record<string, string> = {};
  const repeated = new Set<string>();
  for (const [name, value] of parameters) {
    if (name === TOKEN_PARAMETER) continue;
    if (Object.hasOwn(raw, name) && Object.hasOwn(schema.shape, name)) repeated.add(name);
    Object.defineProperty(raw, name, { value, enumerable: true, configurable: true });
  }
  const parsed = schema.safeParse(raw);
  const errors: FieldError[] = [...repeated].map((pointer) => ({ pointer, message: 'must not be repeated' }));
  if (!parsed.success) errors.push(...fieldErrorsOf(parsed.error, 'parameter'));
  return parsed.success && errors.length === 0 ? success(parsed.data) : failure(errors);
}

/** Renders parsed query values as text again, to send them on; the inverse of {@link parseQuery}. */
export function renderQuery(values: Readonly<Record<string, unknown>>): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    parameters.append(name, typeof value === 'string' ? value : stringifyJsonExact(value));
  }
  return parameters;
}
