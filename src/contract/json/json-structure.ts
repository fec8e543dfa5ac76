import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-characters.ts';
import { JsonError } from './json-error.ts';

const NUMBER_TOKEN = /-?[0-9][0-9.eE+-]*/y;

interface StructureLimits {
  readonly maxDepth: number;
  readonly strict: boolean;
  readonly maxKeysOfObject: number;
  readonly maxKeys: number;
  readonly maxValues: number;
}

/** One open object or array: the keys seen so far, `null` for an array. */
interface Frame {
  readonly keys: Set<string> | null;
  expectsKey: boolean;
}

/**
 * Checks what `JSON.parse` does not: nesting depth, the number of values, and in strict mode duplicate keys, `__proto__`, the
 * number of keys, and numbers beyond the range of a double. It does not validate syntax; `JSON.parse` does that afterwards.
 *
 * @throws JsonError
 */
export function scanJsonStructure(text: string, limits: StructureLimits): void {
  const stack: Frame[] = [];
  let keys = 0;
  let values = 1;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      const frame = stack.at(-1);
      if (limits.strict && frame?.expectsKey === true && frame.keys !== null) {
        frame.expectsKey = false;
        checkKey(text.slice(at, end), frame.keys, at);
        keys += 1;
        if (frame.keys.size > limits.maxKeysOfObject)
          throw tooManyKeys('an object', limits.maxKeysOfObject, at);
        if (keys > limits.maxKeys) throw tooManyKeys('the JSON text', limits.maxKeys, at);
      }
      at = end;
    } else if (limits.strict && isNumberStart(code)) {
      at = endOfNumber(text, at);
    } else {
      step(code, stack, limits, at);
      // A value is the text itself, or it follows a bracket or a comma.
      if (code === OPEN_OBJECT || code === OPEN_ARRAY || code === COMMA) values += 1;
      if (values > limits.maxValues) throw tooManyValues(limits.maxValues, at);
      at += 1;
    }
  }
}

function step(code: number, stack: Frame[], limits: StructureLimits, at: number): void {
  if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
    const isObject = code === OPEN_OBJECT;
    stack.push({ keys: isObject && limits.strict ? new Set() : null, expectsKey: isObject });
    if (stack.length > limits.maxDepth) {
      throw new JsonError(
        'too_deep',
        `the JSON text nests deeper than ${limits.maxDepth} levels (offset ${at})`,
      );
    }
  } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
    stack.pop();
  } else if (code === COMMA) {
    const frame = stack.at(-1);
    if (frame !== undefined) frame.expectsKey = frame.keys !== null;
  }
}

function tooManyKeys(what: string, most: number, at: number): JsonError {
  return new JsonError('too_many_keys', `${what} has more than ${most} keys (offset ${at})`);
}

function tooManyValues(most: number, at: number): JsonError {
  return new JsonError('too_many_values', `the JSON text has more than ${most} values (offset ${at})`);
}

function checkKey(token: string, keys: Set<string>, at: number): void {
  const key = decode(token, at);
  if (key === '__proto__') {
    throw new JsonError('forbidden_key', `the key "__proto__" is not allowed (offset ${at})`);
  }
  if (keys.has(key)) {
    throw new JsonError('duplicate_key', `the key ${token} appears twice in one object (offset ${at})`);
  }
  keys.add(key);
}

function decode(token: string, at: number): string {
  try {
    return JSON.parse(token) as string;
  } catch {
    throw new JsonError('syntax', `the text is not JSON: malformed string at offset ${at}`);
  }
}

/** The offset after the closing quote, or the end of the text when the string is not closed. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    at += code === BACKSLASH ? 2 : 1;
  }
  return text.length;
}

function endOfNumber(text: string, at: number): number {
  NUMBER_TOKEN.lastIndex = at;
  const token = NUMBER_TOKEN.exec(text)?.[0];
  if (token === undefined) return at + 1;
  if (Math.abs(Number(token)) === Infinity) {
    throw new JsonError('number_out_of_range', `a number exceeds the range of a double (offset ${at})`);
  }
  return at + token.length;
}

function isNumberStart(code: number): boolean {
  return code === 0x2d || (code >= 0x30 && code <= 0x39);
}
