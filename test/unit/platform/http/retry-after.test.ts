import { expect, it } from 'vitest';
import { parseRetryAfter } from '../../../../src/platform/http/retry-after.ts';

it('reads Retry-After as seconds or as a date, within a bound', () => {
  const now = Date.UTC(2026, 0, 1);
  expect(parseRetryAfter('Thu, 01 Jan 2026 00:00:30 GMT', now)).toBe(30_000);
  expect(parseRetryAfter('Thu, 01 Jan 2025 00:00:30 GMT', now)).toBe(0);
  expect(parseRetryAfter('Thu, 01 Jan 2036 00:00:30 GMT', now)).toBe(300_000);
  expect(parseRetryAfter(' 12 ', now)).toBe(12_000);
  for (const text of ['', '-1', '1.5', 'soon', 'Moonday, x']) expect(parseRetryAfter(text, now)).toBeNull();
  expect(parseRetryAfter(null, now)).toBeNull();
});
