import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderHttpDate } from '../../../../src/domain/http/http-date.ts';
import {
  evaluatePreconditions,
  ifRangeHolds,
  type ConditionalHeaders,
  type PreconditionOutcome,
  type Validators,
} from '../../../../src/domain/http/preconditions.ts';

const NOW = 1_800_000_000;
const MODIFIED = 1_700_000_000;
const validators: Validators = { etag: '"abc"', lastModified: MODIFIED, lastModifiedIsStrong: true };
const at = renderHttpDate;

function outcome(headers: ConditionalHeaders, method = 'GET'): PreconditionOutcome {
  return evaluatePreconditions(method, headers, validators, NOW);
}

describe('If-Match compares strongly', () => {
  test.each<[string, PreconditionOutcome]>([
    ['"abc"', 'proceed'],
    ['*', 'proceed'],
    ['"x", "abc"', 'proceed'],
    [',, "x" ,\t"abc",', 'proceed'],
    ['"a,b", "abc"', 'proceed'],
    ['W/"abc"', 'failed'],
    ['"ABC"', 'failed'],
    ['abc', 'failed'],
    ['', 'failed'],
    ['"x"', 'failed'],
    ['"abc", junk', 'failed'],
    ['*, "abc"', 'failed'],
    ['"abc" "x"', 'failed'],
    ['"abc', 'failed'],
  ])('%j', (value, expected) => {
    expect(outcome({ 'if-match': value })).toBe(expected);
  });
});

describe('If-None-Match compares weakly', () => {
  test.each<[string, PreconditionOutcome]>([
    ['"abc"', 'not_modified'],
    ['W/"abc"', 'not_modified'],
    ['*', 'not_modified'],
    ['"x", W/"abc"', 'not_modified'],
    ['"x","abc","y"', 'not_modified'],
    ['"\u00e9", "abc"', 'not_modified'],
    ['w/"abc"', 'proceed'],
    ['"x"', 'proceed'],
    ['abc', 'proceed'],
    ['"abc", junk', 'proceed'],
    ['"x\u0001", "abc"', 'proceed'],
    ['', 'proceed'],
  ])('%j', (value, expected) => {
    expect(outcome({ 'if-none-match': value })).toBe(expected);
    expect(outcome({ 'if-none-match': value }, 'HEAD')).toBe(expected);
    expect(outcome({ 'if-none-match': value }, 'PUT')).toBe(expected === 'proceed' ? 'proceed' : 'failed');
  });
});

test.each<[ConditionalHeaders, PreconditionOutcome]>([
  [{}, 'proceed'],
  [{ 'if-modified-since': at(MODIFIED) }, 'not_modified'],
  [{ 'if-modified-since': at(MODIFIED + 1) }, 'not_modified'],
  [{ 'if-modified-since': at(MODIFIED - 1) }, 'proceed'],
  [{ 'if-modified-since': 'garbage' }, 'proceed'],
  [{ 'if-modified-since': `${at(MODIFIED)}, ${at(MODIFIED)}` }, 'proceed'],
  [{ 'if-unmodified-since': at(MODIFIED) }, 'proceed'],
  [{ 'if-unmodified-since': at(MODIFIED + 1) }, 'proceed'],
  [{ 'if-unmodified-since': at(MODIFIED - 1) }, 'failed'],
  [{ 'if-unmodified-since': 'garbage' }, 'proceed'],
  // Entity tags win over dates.
  [{ 'if-match': '"abc"', 'if-unmodified-since': at(0) }, 'proceed'],
  [{ 'if-match': '"x"', 'if-unmodified-since': at(NOW) }, 'failed'],
  [{ 'if-none-match': '"x"', 'if-modified-since': at(NOW) }, 'proceed'],
  [{ 'if-none-match': '"abc"', 'if-modified-since': at(0) }, 'not_modified'],
  [{ 'if-none-match': '', 'if-modified-since': at(NOW) }, 'proceed'],
  // The first group is decided before the second.
  [{ 'if-match': '"x"', 'if-none-match': '"abc"' }, 'failed'],
  [{ 'if-match': '"abc"', 'if-none-match': '"abc"' }, 'not_modified'],
  [{ 'if-unmodified-since': at(0), 'if-none-match': '"abc"' }, 'failed'],
  [{ 'if-unmodified-since': at(0), 'if-modified-since': at(NOW) }, 'failed'],
  [{ 'if-match': '"abc"', 'if-modified-since': at(MODIFIED) }, 'not_modified'],
  // If-Range is not a precondition of the method.
  [{ 'if-range': '"x"' }, 'proceed'],
])('%j gives %s', (headers, expected) => {
  expect(outcome(headers)).toBe(expected);
});

test('If-Modified-Since applies only to GET and HEAD', () => {
  expect(outcome({ 'if-modified-since': at(NOW) }, 'HEAD')).toBe('not_modified');
  expect(outcome({ 'if-modified-since': at(NOW) }, 'POST')).toBe('proceed');
});

test.each<[string | undefined, boolean]>([
  [undefined, true],
  ['"abc"', true],
  ['W/"abc"', false],
  ['"x"', false],
  ['"abc", "x"', false],
  ['*', false],
  ['abc', false],
  ['', false],
  [at(MODIFIED), true],
  [at(MODIFIED - 1), false],
  [at(MODIFIED + 1), false],
  ['garbage', false],
])('If-Range %j allows the range: %s', (value, expected) => {
  expect(ifRangeHolds(value, validators, NOW)).toBe(expected);
});

test('a date in If-Range counts only while it is a strong validator', () => {
  const weak = { ...validators, lastModifiedIsStrong: false };
  expect(ifRangeHolds(at(MODIFIED), weak, NOW)).toBe(false);
  expect(ifRangeHolds('"abc"', weak, NOW)).toBe(true);
});

test('property: a well-formed list matches exactly when it holds the tag', () => {
  const opaque = fc
    .string({ unit: fc.constantFrom('a', 'b', 'c', ',', ' ', '*', '/', 'W') })
    .map((text) => text.replaceAll(' ', '-'));
  const tag = fc.record({ weak: fc.boolean(), opaque: fc.oneof(opaque, fc.constant('abc')) });
  const separator = fc.constantFrom(',', ', ', ' ,', ',,', ' , \t,');
  fc.assert(
    fc.property(fc.array(tag, { minLength: 1, maxLength: 6 }), separator, (tags, comma) => {
      const value = tags.map((each) => `${each.weak ? 'W/' : ''}"${each.opaque}"`).join(comma);
      const holdsStrong = tags.some((each) => !each.weak && each.opaque === 'abc');
      const holdsAny = tags.some((each) => each.opaque === 'abc');
      expect(outcome({ 'if-match': value })).toBe(holdsStrong ? 'proceed' : 'failed');
      expect(outcome({ 'if-none-match': value })).toBe(holdsAny ? 'not_modified' : 'proceed');
    }),
    { numRuns: 500 },
  );
});

test('a list of the maximum head size is read in linear time', () => {
  const long = '"",'.repeat(5000);
  const started = performance.now();
  expect(outcome({ 'if-none-match': `${long}"abc"` })).toBe('not_modified');
  expect(outcome({ 'if-none-match': `"${'x'.repeat(16_000)}` })).toBe('proceed');
  expect(performance.now() - started).toBeLessThan(500);
});
