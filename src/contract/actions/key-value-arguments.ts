import type { z } from 'zod';
import { failure, success, type Result } from '../../domain/result.ts';
import { parseJsonExact } from '../json/json-exact.ts';
import { mustBeOneOf } from '../problems/value-errors.ts';

/** One rejected `key=value` pair: its index and why; `null` where the error is about all of them. */
interface PairError {
  readonly index: number | null;
  readonly message: string;
}

/**
 * Parses `key=value` pairs: each key is a field of the schema, each value becomes the type of that field.
 *
 * @returns the typed fields, or every rejected pair; the messages name the key
 */
export function parseKeyValuePairs<S extends z.ZodObject>(
  schema: S,
  pairs: readonly string[],
): Result<z.output<S>, PairError[]> {
  const keys = Object.keys(schema.shape);
  const fields: Record<string, unknown> = {};
  // The pair that a field comes from, so that an error of the field names what the caller sent.
  const origins = new Map<PropertyKey, number>();
  const errors: PairError[] = [];
  for (const [index, pair] of pairs.entries()) {
    const at = pair.indexOf('=');
    const key = pair.slice(0, Math.max(at, 0));
    if (!keys.includes(key)) {
      errors.push({ index, message: mustBeOneOf(keys.map((each) => `${each}=...`)) });
    } else if (origins.has(key)) {
      errors.push({ index, message: `${key} is given twice` });
    } else {
      origins.set(key, index);
      fields[key] = valueOf(schema.shape[key] as z.ZodType, pair.slice(at + 1));
    }
  }
  if (errors.length > 0) return failure(errors);
  const parsed = schema.safeParse(fields);
  if (parsed.success) return success(parsed.data);
  return failure(
    parsed.error.issues.map(({ path, message }) => {
      const name = path.map(String).join('.');
      return { index: origins.get(path[0] ?? '') ?? null, message: `${name} ${message}`.trim() };
    }),
  );
}

/** The text as the type that the field has; text that fits no type stays text, which the schema then refuses. */
function valueOf(field: z.ZodType, text: string): unknown {
  const candidates: unknown[] = [text];
  if (text === 'true' || text === 'false') candidates.push(text === 'true');
  if (/^-?(?:0|[1-9]\d{0,18})$/.test(text)) candidates.push(parseJsonExact(text));
  return candidates.find((candidate) => field.safeParse(candidate).success) ?? text;
}
