import { scanJsonStructure } from './json-structure.ts';
import { JsonError } from './json-error.ts';

export interface JsonLimits {
  /** Deepest nesting of objects and arrays; default 64. */
  readonly maxDepth?: number;
  /** Longest text in UTF-8 bytes; default 64 MiB. */
  readonly maxBytes?: number;
  /** Refuses duplicate keys, the key `__proto__` and numbers beyond the range of a double; for text from outside. */
  readonly strict?: boolean;
  /** Most keys of one object; default no limit. Needs `strict`. */
  readonly maxKeysOfObject?: number;
  /** Most keys of all objects together; default no limit. Needs `strict`. */
  readonly maxKeys?: number;
  /** Most values of the text, keys not counted; default no limit. */
  readonly maxValues?: number;
}

/** Longest integer, in digits, that is read as a bigint. */
const MAX_INTEGER_DIGITS = 400;
const DEFAULT_MAX_DEPTH = 64;
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;
/** A text without so long a run of digits holds no integer beyond 2^53: the common case, which needs no reviver. */
const LONG_DIGITS = /[0-9]{16}/;

type ExactReviver = (
  this: unknown,
  key: string,
  value: unknown,
  context: { readonly source?: string },
) => unknown;

/** The part of the `JSON.parse` source text access proposal (ECMA-262, 2025) that TypeScript does not declare yet. */
const ExactJson = JSON as unknown as {
  parse(text: string, reviver?: ExactReviver): unknown;
  rawJSON(text: string): object;
};

/**
 * Parses JSON without losing a digit: integers outside ±(2^53 - 1) become bigint, everything else is what
 * `JSON.parse` gives.
 *
 * @param limits depth, size, number of keys and values, and whether ambiguous input (duplicate keys) is refused
 * @throws JsonError that says what is wrong and at which offset (UTF-16 units) where that is known
 *
 * Source: RFC 8259; section 6 for numbers, section 4 for duplicate names.
 */
export function parseJsonExact(text: string, limits: JsonLimits = {}): unknown {
  const maxBytes = limits.maxBytes ?? DEFAULT_MAX_BYTES;
  // One UTF-16 unit is one to three bytes: measure only where it can matter.
  if (text.length > maxBytes || (text.length * 3 > maxBytes && utf8Length(text) > maxBytes)) {
    throw new JsonError('too_large', `the JSON text exceeds ${maxBytes} bytes`);
  }
  const {
    maxDepth = DEFAULT_MAX_DEPTH,
    strict = false,
    maxKeysOfObject = Infinity,
    maxKeys = Infinity,
    maxValues = Infinity,
  } = limits;
  scanJsonStructure(text, { maxDepth, strict, maxKeysOfObject, maxKeys, maxValues });
  try {
    return LONG_DIGITS.test(text) ? ExactJson.parse(text, reviveInteger) : ExactJson.parse(text);
  } catch (error) {
    if (error instanceof JsonError) throw error;
    throw new JsonError(
      'syntax',
      `the text is not JSON: ${error instanceof Error ? error.message : 'unreadable'}`,
    );
  }
}

/**
 * Renders a value as JSON, bigint as bare digits; the inverse of {@link parseJsonExact}.
 *
 * @param value JSON values and bigint; `undefined` members are left out as `JSON.stringify` does
 * @throws TypeError when the value has no JSON form or refers to itself
 */
export function stringifyJsonExact(value: unknown, indent = 0): string {
  const text = stringify(value, indent);
  if (text === undefined) throw new TypeError(`a value of type ${typeof value} cannot be written as JSON`);
  return text;
}

function stringify(value: unknown, indent: number): string | undefined {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    // Mostly there is no bigint, and looking at each member takes several times as long.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(
      value,
      (_key, member: unknown) => (typeof member === 'bigint' ? ExactJson.rawJSON(member.toString()) : member),
      indent,
    );
  }
}

function reviveInteger(
  this: unknown,
  _key: string,
  value: unknown,
  context: { readonly source?: string },
): unknown {
  const { source } = context;
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
  if (!INTEGER.test(source)) return value;
  if (source.length > MAX_INTEGER_DIGITS) {
    throw new JsonError('number_out_of_range', `an integer has more than ${MAX_INTEGER_DIGITS} digits`);
  }
  return BigInt(source);
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
