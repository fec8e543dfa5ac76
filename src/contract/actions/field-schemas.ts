import { z } from 'zod';
import { CHANNELS } from '../../domain/release/channel.ts';
import { parseReleaseId } from '../../domain/release/release-id.ts';
import { mustBeOneOf } from '../problems/value-errors.ts';
import { int64, type Int64Bounds } from '../schemas/int64.ts';
import { SCHEDULE_GROUPS } from '../schemas/vocabulary.ts';
import { parseKeyValuePairs } from './key-value-arguments.ts';

/** A field that is one of a few words. */
export function word<const T extends readonly [string, ...string[]]>(
  values: T,
): z.ZodEnum<{ [K in T[number]]: K }> {
  return z.enum(values, { error: mustBeOneOf(values) });
}

/**
 * An integer of 64 bits within the bounds, as a number. One beyond ±(2^53 - 1) becomes that, so that the same schema takes the
 * result again.
 */
export function wholeNumber(bounds: Int64Bounds): z.ZodType<number> {
  return int64(bounds).transform((value) =>
    Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number(value), Number.MAX_SAFE_INTEGER)),
  );
}

/** A switch. */
export const flag = z.boolean({ error: 'must be true or false' });

/** A release id. */
export const releaseId = z.string().transform((text, context) => {
  const parsed = parseReleaseId(text);
  if (parsed.ok) return parsed.value;
  context.addIssue({ code: 'custom', message: parsed.error });
  return z.NEVER;
});

/** A channel. */
export const channel = word(CHANNELS);

/** A group of schedules. */
export const scheduleGroup = word(SCHEDULE_GROUPS);

const FIELDS_OF_PAIRS = new WeakMap<z.ZodType, z.ZodObject>();

/** `key=value` pairs whose keys are the fields of a schema; gives the typed fields. */
export function keyValuePairs<S extends z.ZodObject>(schema: S): z.ZodType<z.output<S>> {
  const pairs = z.array(z.string()).transform((texts, context) => {
    const parsed = parseKeyValuePairs(schema, texts);
    if (parsed.ok) return parsed.value;
    for (const { index, message } of parsed.error) {
      context.addIssue({ code: 'custom', message, path: index === null ? [] : [index] });
    }
    return z.NEVER;
  });
  FIELDS_OF_PAIRS.set(pairs, schema);
  return pairs;
}

/** The fields that a schema of {@link keyValuePairs} takes; `null` for any other schema. */
export function fieldsOfPairs(schema: z.ZodType): z.ZodObject | null {
  return FIELDS_OF_PAIRS.get(schema) ?? null;
}

/** Text of the form `key=value`, whatever the key. */
export const keyValueText = z.string().refine((pair) => pair.indexOf('=') > 0, {
  error: 'must have the form key=value',
});

/** A `force` with the meaning that it has for one action. */
export function forced(description: string): z.ZodType<boolean> {
  return flag.meta({ description });
}
