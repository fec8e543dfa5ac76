import { assert, bigInt, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { INT64_MAX } from '../../../src/contract/schemas/int64.ts';
import {
  instantOf,
  joinDuration,
  localTextOf,
  splitDuration,
  unixTextOf,
  zoneText,
} from '../../../src/console/forms/time-texts.ts';

describe('a typed duration', () => {
  it('is shown in the largest unit that divides it', () => {
    expect(splitDuration('7200')).toEqual({ amount: '2', unit: 3600 });
    expect(splitDuration('90')).toEqual({ amount: '90', unit: 1 });
    expect(splitDuration('604800')).toEqual({ amount: '1', unit: 604_800 });
    expect(splitDuration('0')).toEqual({ amount: '0', unit: 1 });
    expect(splitDuration('')).toMatchObject({ amount: '' });
  });

  it('takes fractions, and leaves any other text to the form', () => {
    expect(joinDuration({ amount: '1.5', unit: 3600 })).toBe('5400');
    expect(joinDuration({ amount: '0,5', unit: 60 })).toBe('30');
    expect(joinDuration({ amount: 'soon', unit: 60 })).toBe('soon');
    expect(joinDuration({ amount: '-1', unit: 60 })).toBe('-1');
  });

  it('property: keeps every number of seconds', () => {
    assert(
      property(bigInt({ min: 0n, max: INT64_MAX }), (seconds) => {
        expect(joinDuration(splitDuration(String(seconds)))).toBe(String(seconds));
      }),
    );
  });
});

describe('a typed instant', () => {
  it('property: keeps every second that a calendar has', () => {
    // The last second of the year 9998: every zone still writes its year with four digits.
    assert(
      property(integer({ min: 0, max: 253_370_764_799 }), (at) => {
        const text = localTextOf(String(at));
        expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
        // An hour that a change of the clock repeats has two instants.
        expect(Math.abs(Number(unixTextOf(text)) - at) % 1800).toBe(0);
      }),
    );
  });

  it('is empty for any other text', () => {
    for (const text of ['', '-1', '1e3', 'now', '9999999999999', '999999999999']) {
      expect(localTextOf(text)).toBe('');
    }
    expect(unixTextOf('')).toBe('');
    expect(instantOf('x')).toBe(null);
  });

  it('names the zone of the reader', () => {
    expect(zoneText(new Date(0))).toMatch(/^(?:UTC|[\w/+-]+, UTC[+-]\d\d:\d\d)$/);
  });
});
