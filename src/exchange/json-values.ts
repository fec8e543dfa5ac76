import { isRecord } from '../domain/is-record.ts';
import { MAX_TEXT_CHARACTERS } from '../contract/formats/text-limit.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** A value of an item that cannot be used. Only this item is refused. */
export class ValueError extends Error {}

const MAX_CONTEXT_KEYS = 64;

/** A text, or `null` where it is missing. @throws ValueError */
export function textOf(values: JsonObject, name: string): string | null {
  const text = values[name] ?? null;
  if (text === null) return null;
  if (typeof text !== 'string') throw new ValueError(`the value of ${name} is not a text`);
  if (text.length <= MAX_TEXT_CHARACTERS) return text;
  throw new ValueError(`the value of ${name} has more than ${MAX_TEXT_CHARACTERS} characters`);
}

/** A text that must be there. @throws ValueError */
export function requiredText(values: JsonObject, name: string): string {
  const text = textOf(values, name);
  if (text === null) throw new ValueError(`the value of ${name} is missing`);
  return text;
}

/** An object; empty where it is missing. @throws ValueError */
export function objectOf(values: JsonObject, name: string): JsonObject {
  const object = values[name] ?? {};
  if (isRecord(object)) return object;
  throw new ValueError(`the value of ${name} is not an object`);
}

/** The texts of `context`. @throws ValueError */
export function contextOf(values: JsonObject): Readonly<Record<string, string>> {
  const context = objectOf(values, 'context');
  const keys = Object.keys(context);
  if (keys.length > MAX_CONTEXT_KEYS) throw new ValueError(`context has more than ${MAX_CONTEXT_KEYS} keys`);
  return Object.fromEntries(keys.map((key) => [key, textOf(context, key) ?? '']));
}
