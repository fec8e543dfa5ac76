import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseHttpDate, renderHttpDate } from '../../../../src/domain/http/http-date.ts';

const NOW = Date.UTC(2026, 5, 15) / 1000;
const EXAMPLE = 784_111_777;

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
