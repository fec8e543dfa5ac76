import { z } from 'zod';
import { JsonError } from '../json/json-error.ts';
import { parseJsonExact } from '../json/json-exact.ts';
import { INT64_MAX, INT64_MIN } from './int64.ts';

/** Longest value of a query parameter, in UTF-16 units; the request line is bounded below this anyway. */
export const PARAMETER_MAX_LENGTH = 16_384;

const DECIMAL = /^[0-9]{1,19}$/;
const SIGNED_DECIMAL = /^-?[0-9]{1,19}$/;

/** A parameter that is plain text, not empty, at most `max` characters. */
export function text(description: string, max = 1024): z.ZodString {
  return z
    .string({ error: 'is required' })
    .min(1, { error: 'must not be empty' })
    .max(max, { error: `must not exceed ${max} characters` })
    .meta({ description });
}

/** A parameter whose value does not matter; one of more than `max` characters counts as absent. */
export function ignoredText(description: string, max = 1024): z.ZodType<string | undefined> {
  return z.string().max(max).optional().catch(undefined).meta({ description });
}

/** A parameter that is one of a few words. */
export function choice<const T extends readonly [string, ...string[]]>(
  values: T,
  description: string,
): z.ZodType<T[number], string | undefined> {
  return z.enum(values, { error: `must be one of ${values.join(', ')}` }).meta({ description });
}

/** A parameter that is some of a few words, with commas between them. */
export function choices(
  values: readonly string[],
  description: string,
): z.ZodType<string, string | undefined> {
  const one = `(?:${values.join('|')})`;
  return z
    .string()
    .max(1024)
    .regex(new RegExp(`^${one}(?:,${one})*$`), {
      error: `must be one or more of ${values.join(', ')}, separated by commas`,
    })
    .meta({ description });
}

/** A parameter that is `true` or `false`, nothing else. */
export function flag(description: string): z.ZodType<boolean, string | undefined> {
  return z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((value) => value === 'true')
    .pipe(z.boolean())
    .meta({ description });
}

/** Bounds of an integer parameter, both inclusive; they lie within ±(2^53 - 1). */
interface IntegerBounds {
  readonly min: number;
  readonly max: number;
  /** Whether the specification names the parameter int64. */
  readonly wide?: boolean;
}

/** A parameter that is an integer in decimal digits, with a minus sign only where the bounds allow one. */
export function integer(
  { min, max, wide = false }: IntegerBounds,
  description: string,
): z.ZodType<number, string | undefined> {
  const error = `must be an integer from ${min} to ${max}, in decimal digits`;
  return z
    .string({ error })
    .regex(min < 0 ? SIGNED_DECIMAL : DECIMAL, { error })
    .transform(Number)
    .pipe(z.int({ error }).min(min, { error }).max(max, { error }))
    .meta({ description, ...(wide ? { format: 'int64' } : {}) });
}

/** A parameter that is a signed 64-bit integer in decimal digits; Unity path ids exceed 2^53, so it becomes a bigint. */
export function wideInteger(description: string): z.ZodType<bigint, string | undefined> {
  const error = `must be an integer from ${INT64_MIN} to ${INT64_MAX}, in decimal digits`;
  return z
    .string({ error })
    .regex(SIGNED_DECIMAL, { error })
    .transform((digits) => BigInt(digits))
    .refine((value) => value >= INT64_MIN && value <= INT64_MAX, { error })
    .meta({ type: 'integer', format: 'int64', description });
}

const JSON_STRING = String.raw`"([^"\\\x00-\x1f]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*"`;
const JSON_SPACE = String.raw`[ \t\n\r]*`;
const JSON_MEMBER = `${JSON_SPACE}${JSON_STRING}${JSON_SPACE}:${JSON_SPACE}${JSON_STRING}${JSON_SPACE}`;

/**
 * The form of a JSON object whose values are strings. The OpenAPI document says it with a pattern, because generators of
 * clients drop a parameter that is declared as JSON content, or send it in another form.
 */
export const STRING_MAP_PATTERN = `^${JSON_SPACE}\\{(${JSON_SPACE}|${JSON_MEMBER}(,${JSON_MEMBER})*)\\}${JSON_SPACE}$`;

/** A parameter whose text is a JSON object with string values. */
export function stringMap(description: string): z.ZodType<Record<string, string>, string | undefined> {
  return z
    .string()
    .max(PARAMETER_MAX_LENGTH, { error: `must not exceed ${PARAMETER_MAX_LENGTH} characters` })
    .transform((json, context) => {
      const value = parseStringMap(json);
      if (value !== null) return value;
      context.addIssue({ code: 'custom', message: 'must hold a JSON object whose values are strings' });
      return z.NEVER;
    })
    .meta({
      type: 'string',
      maxLength: PARAMETER_MAX_LENGTH,
      pattern: STRING_MAP_PATTERN,
      description,
      example: '{"speaker":"Hina"}',
    });
}

function parseStringMap(json: string): Record<string, string> | null {
  try {
    const value = parseJsonExact(json, { maxDepth: 2, maxBytes: PARAMETER_MAX_LENGTH * 3, strict: true });
    return z.record(z.string(), z.string()).safeParse(value).data ?? null;
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}
