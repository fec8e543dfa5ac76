import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonError, type JsonErrorKind } from '../../../src/contract/json/json-error.ts';
import {
  parseJsonExact,
  stringifyJsonExact,
  type JsonLimits,
} from '../../../src/contract/json/json-exact.ts';

const INT64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

function kindOf(text: string, limits: JsonLimits = {}): JsonErrorKind | 'accepted' {
  try {
    parseJsonExact(text, limits);
    return 'accepted';
  } catch (error) {
    if (error instanceof JsonError) return error.kind;
    throw error;
  }
}

describe('parseJsonExact', () => {
  it('keeps every int64 to the last digit', () => {
    fc.assert(
      fc.property(INT64, (value) => {
        const parsed = parseJsonExact(`{"a":[${value}]}`) as { a: Array<bigint | number> };
        expect(BigInt(parsed.a[0] ?? 0)).toBe(value);
        const safe = value >= -(2n ** 53n - 1n) && value <= 2n ** 53n - 1n;
        expect(typeof parsed.a[0]).toBe(safe ? 'number' : 'bigint');
      }),
    );
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740992', -9007199254740992n],
    ['-9180874206900030759', -9180874206900030759n],
  ])('reads %s', (text, expected) => {
    expect(parseJsonExact(text)).toBe(expected);
  });

  it('agrees with JSON.parse on everything that fits a double', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.boolean(), (text, strict) => {
        fc.pre(!text.includes('__proto__') && !/[0-9]{16}/.test(text));
        expect(parseJsonExact(text, { strict })).toEqual(JSON.parse(text));
      }),
    );
  });

  it('keeps every fraction a number, however many digits it has', () => {
    const fraction = fc.double({ noDefaultInfinity: true, noNaN: true, noInteger: true });
    fc.assert(
      fc.property(fraction, (value) => {
        expect(parseJsonExact(`[${value}]`, { strict: true })).toEqual([value]);
      }),
    );
  });

  it('round-trips values with bigint', () => {
    const leaf = fc.oneof(
      INT64.filter((value) => !Number.isSafeInteger(Number(value))),
      fc.integer(),
      fc.string(),
    );
    const value = fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      fc.array(leaf),
    );
    fc.assert(
      fc.property(value, (original) => {
        expect(parseJsonExact(stringifyJsonExact(original), { strict: true })).toEqual({ ...original });
      }),
    );
  });

  it('does not touch digits inside strings', () => {
    expect(parseJsonExact('["12345678901234567890"]')).toEqual(['12345678901234567890']);
  });

  it.each<[string, JsonErrorKind | 'accepted']>([
    ['{"a":1,"a":2}', 'duplicate_key'],
    ['{"a":1,"\\u0061":2}', 'duplicate_key'],
    ['{"a":{"b":1},"c":{"b":1}}', 'accepted'],
    ['[{"a":1},{"a":1}]', 'accepted'],
    ['{"a":["a","a"],"b":"a"}', 'accepted'],
    ['{"x":{"__proto__":{}}}', 'forbidden_key'],
    ['{"\\u005f_proto__":1}', 'forbidden_key'],
    ['["__proto__"]', 'accepted'],
    ['[1e999]', 'number_out_of_range'],
    ['["1e999"]', 'accepted'],
    ['{"a":1,}', 'syntax'],
    ['{"a', 'syntax'],
    ['{"\\x":1}', 'syntax'],
    ['', 'syntax'],
    [`[${'9'.repeat(401)}]`, 'number_out_of_range'],
  ])('in strict mode finds %s to be %s', (text, kind) => {
    expect(kindOf(text, { strict: true })).toBe(kind);
  });

  it('never pollutes a prototype', () => {
    const parsed = parseJsonExact('{"__proto__":{"polluted":true}}') as object;
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  });

  it('bounds depth without overflowing the stack', () => {
    expect(kindOf('[[[]]]', { maxDepth: 3 })).toBe('accepted');
    expect(kindOf('[[[[]]]]', { maxDepth: 3 })).toBe('too_deep');
    expect(kindOf('['.repeat(1_000_000))).toBe('too_deep');
    expect(kindOf('["[[[[{{{{"]', { maxDepth: 1 })).toBe('accepted');
  });

  it('bounds the keys of one object and of all objects together, in strict mode', () => {
    const limits = { strict: true, maxKeysOfObject: 2, maxKeys: 3 };
    const one = '{"a":1,"b":{"c":1}}';
    expect(kindOf(one, limits)).toBe('accepted');
    expect(kindOf('["a","b","c","d",{"a":"b"}]', limits)).toBe('accepted');
    expect(kindOf('{"a":1,"b":2,"c":3}', limits)).toBe('too_many_keys');
    expect(kindOf('[{"a":1,"b":2},{"c":1,"d":1}]', limits)).toBe('too_many_keys');
  });

  it('bounds the values of a text, whatever holds them', () => {
    const limits = { maxValues: 4 };
    expect(kindOf('{"a":1,"b":[",[{",2]}', { maxValues: 5 })).toBe('accepted');
    expect(kindOf('[1,2,3]', limits)).toBe('accepted');
    expect(kindOf('[1,2,3,4]', limits)).toBe('too_many_values');
    expect(kindOf('[[],[],[]]', limits)).toBe('too_many_values');
    expect(kindOf('{"a":{"b":{"c":{"d":1}}}}', limits)).toBe('too_many_values');
  });

  it('bounds size in bytes, not in characters', () => {
    expect(kindOf('"éé"', { maxBytes: 6 })).toBe('accepted');
    expect(kindOf('"éé"', { maxBytes: 5 })).toBe('too_large');
    expect(kindOf('"aaaaa"', { maxBytes: 6 })).toBe('too_large');
  });
});

describe('stringifyJsonExact', () => {
  it('refuses values without a JSON form', () => {
    expect(() => stringifyJsonExact(undefined)).toThrow(TypeError);
    expect(() => stringifyJsonExact(() => 1)).toThrow(TypeError);
  });

  it('indents', () => {
    expect(stringifyJsonExact({ a: 2n ** 63n }, 2)).toBe('{\n  "a": 9223372036854775808\n}');
  });
});
