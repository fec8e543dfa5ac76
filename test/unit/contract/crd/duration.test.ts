import { describe, expect, it } from 'vitest';
import { durationSeconds } from '../../../../src/contract/crd/duration.ts';

describe('a duration', () => {
  it.each([
    ['15m', 900],
    ['1h30m', 5400],
    ['1h1m1s', 3661],
    ['24h', 86_400],
    ['0s', 0],
  ])('%s has %i seconds', (text, seconds) => {
    expect(durationSeconds(text)).toBe(seconds);
  });

  it.each(['', 'm', '15', '15 m', '1m1h', '1d', '-1m', '1.5h', '15m '])('is not %j', (text) => {
    expect(durationSeconds(text)).toBeNull();
  });
});
