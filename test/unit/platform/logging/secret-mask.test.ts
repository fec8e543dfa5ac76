import { expect, it } from 'vitest';
import { createSecretMask, maskStrings } from '../../../../src/platform/logging/secret-mask.ts';

it('replaces every known token in a text, and in the strings of a JSON value', () => {
  const secrets = createSecretMask();
  secrets.learn('first-token');
  secrets.learn('second.token');
  expect(secrets.mask('a first-token, xsecond.tokeny, second-token')).toBe(
    'a [redacted], x[redacted]y, second-token',
  );
  const value = { a: ['first-token', 1, null, { b: 'is second.token' }], c: 9_007_199_254_740_993n };
  expect(maskStrings(value, secrets)).toEqual({
    a: ['[redacted]', 1, null, { b: 'is [redacted]' }],
    c: 9_007_199_254_740_993n,
  });
});

it('ignores tokens that occur in ordinary text, and forgets the oldest of very many', () => {
  const secrets = createSecretMask();
  secrets.learn('sync');
  for (let count = 0; count < 65; count += 1) secrets.learn(`token-number-${count}-`);
  expect(secrets.mask('sync token-number-0- token-number-64-')).toBe('sync token-number-0- [redacted]');
});
