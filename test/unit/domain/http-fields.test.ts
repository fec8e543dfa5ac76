import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { chooseCoding } from '../../../src/domain/http/content-coding.ts';
import { parseHttpDate, renderHttpDate } from '../../../src/domain/http/http-date.ts';
import { DEFAULT_MEDIA_TYPE, mediaTypeOf } from '../../../src/domain/http/media-type.ts';
import {
  evaluatePreconditions,
  ifRangeHolds,
  type ConditionalHeaders,
  type PreconditionOutcome,
  type Validators,
} from '../../../src/domain/http/preconditions.ts';

const AVAILABLE = ['br', 'gzip'] as const;

describe('the coding of an answer', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['GZIP ; Q=0.3', 'gzip'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['br;q=2, gzip;q=x', 'identity'],
    ['identity;q=0', 'identity'],
    ['deflate', 'identity'],
    ['br;q=0.0001', 'identity'],
    [',,gzip,', 'gzip'],
  ])('for %s is %s', (header, coding) => {
    expect(chooseCoding(header, AVAILABLE)).toBe(coding);
  });
});

const EXAMPLE = 784_111_777;

describe('a date of HTTP', () => {
  const NOW = Date.UTC(2026, 5, 15) / 1000;

  test.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', EXAMPLE],
    ['Sunday, 06-Nov-94 08:49:37 GMT', EXAMPLE],
    ['Sun Nov  6 08:49:37 1994', EXAMPLE],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['Tue, 29 Feb 2000 00:00:00 GMT', Date.UTC(2000, 1, 29) / 1000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 253_402_300_799],
    // The leap second at the end of 2016 is the second before 2017.
    ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1) / 1000],
    // Years below 100 are literal, not 19xx.
    ['Sat, 01 Jan 0099 00:00:00 GMT', -59_042_995_200],
  ])('%s', (text, expected) => {
    expect(parseHttpDate(text, NOW)).toBe(expected);
  });

  test.each([
    '',
    'yesterday',
    '0',
    '784111777',
    '1994-11-06T08:49:37Z',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0000',
    'Sun, 06 Nov 1994 08:49:37 gmt',
    'sun, 06 nov 1994 08:49:37 GMT',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun,  06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 94 08:49:37 GMT',
    'Xyz, 06 Nov 1994 08:49:37 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun, 31 Nov 1994 08:49:37 GMT',
    'Mon, 29 Feb 2023 00:00:00 GMT',
    'Thu, 29 Feb 1900 00:00:00 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT',
    ' Sun, 06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT ',
    'Sun, 06-Nov-94 08:49:37 GMT',
    'Sunday, 06-Nov-1994 08:49:37 GMT',
    'Sun Nov 6 08:49:37 1994',
    'Sun Nov 06 08:49:37 94',
    'Sun Nov  6 08:49:37 1994 GMT',
    '"3f80f-1b6-3e1cb03b"',
  ])('%j is not an HTTP date', (text) => {
    expect(parseHttpDate(text, NOW)).toBeNull();
  });

  test('a year of two digits is never more than 50 years ahead', () => {
    expect(parseHttpDate('Monday, 15-Jun-76 00:00:00 GMT', NOW)).toBe(Date.UTC(2076, 5, 15) / 1000);
    expect(parseHttpDate('Tuesday, 16-Jun-76 00:00:00 GMT', NOW)).toBe(Date.UTC(1976, 5, 16) / 1000);
    expect(parseHttpDate('Friday, 01-Jan-99 00:00:00 GMT', NOW)).toBe(Date.UTC(1999, 0, 1) / 1000);
    expect(parseHttpDate('Thursday, 01-Jan-26 00:00:00 GMT', NOW)).toBe(Date.UTC(2026, 0, 1) / 1000);
  });

  test('property: a rendered date is read as the same second', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799 }), (seconds) => {
        const text = renderHttpDate(seconds);
        expect(text).toMatch(/^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$/);
        expect(parseHttpDate(text, NOW)).toBe(seconds);
      }),
    );
  });

  test('property: the asctime form has the same meaning', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799 }), (seconds) => {
        const [day = '', date = '', month = '', year = '', time = ''] = renderHttpDate(seconds).split(' ');
        const asctime = `${day.slice(0, 3)} ${month} ${date.replace(/^0/, ' ')} ${time} ${year}`;
        expect(parseHttpDate(asctime, NOW)).toBe(seconds);
      }),
    );
  });
});

describe('the media type of a destination', () => {
  test.each([
    ['Android/catalog.JSON', 'application/json'],
    ['TableBundles/ExcelDB.db', 'application/vnd.sqlite3'],
    ['MediaResources/Voice/a.ogg', 'audio/ogg'],
    ['a.tar.gz', 'application/gzip'],
    ['text/readme.txt', 'text/plain; charset=utf-8'],
  ])('%s is %s', (destination, mediaType) => {
    expect(mediaTypeOf(destination)).toBe(mediaType);
  });

  test.each([
    'bundle',
    'dir.json/bundle',
    '.json',
    'x.',
    'page.html',
    'image.svg',
    'x.constructor',
    'a.__proto__',
  ])('%s stays application/octet-stream', (destination) => {
    expect(mediaTypeOf(destination)).toBe(DEFAULT_MEDIA_TYPE);
  });
});

const MODIFIED = 1_700_000_000;
const validators: Validators = { etag: '"abc"', lastModified: MODIFIED, lastModifiedIsStrong: true };
const at = renderHttpDate;

describe('the conditions of a request', () => {
  const NOW = 1_800_000_000;

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
    // A file that was written later can be of another release, or half of one.
    [{ 'if-modified-since': at(MODIFIED + 1) }, 'proceed'],
    [{ 'if-modified-since': at(NOW) }, 'proceed'],
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
    expect(outcome({ 'if-modified-since': at(MODIFIED) }, 'HEAD')).toBe('not_modified');
    expect(outcome({ 'if-modified-since': at(MODIFIED) }, 'POST')).toBe('proceed');
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
});
