import { expect, test } from 'vitest';
import { bearerTokenOf, isBearerToken } from '../../../../src/platform/http/bearer-token.ts';

test.each([
  ['Bearer abc', 'abc'],
  ['bearer   abc= ', 'abc='],
  ['Bearer', ''],
  ['Bearer ', ''],
  ['Bearer two words', 'two words'],
  ['Bearerabc', null],
  ['Basic abc', null],
  ['', null],
])('the token of "%s" is %j', (authorization, token) => {
  expect(bearerTokenOf(authorization)).toBe(token);
});

test.each([
  ['abc-._~+/==', true],
  ['', false],
  ['two words', false],
  ['abc=d', false],
])('"%s" can be sent as a token: %s', (text, expected) => {
  expect(isBearerToken(text)).toBe(expected);
});
