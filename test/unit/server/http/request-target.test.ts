import { expect, it } from 'vitest';
import { splitTarget, withPlainHost } from '../../../../src/server/http/request-target.ts';

function plainText(target: string): string | undefined {
  const split = splitTarget(target);
  if (split === null) return undefined;
  const { path, query, text } = withPlainHost(split, 'cdn.example');
  expect(text).toBe(query === '' && !text.includes('?') ? path : `${path}?${query}`);
  return text;
}

it.each([
  ['/cdn%2eexample/a%2eb?c=%2e', '/cdn.example/a%2eb?c=%2e'],
  ['/cdn%2Eexample/', '/cdn.example/'],
  ['/%63dn.example', '/cdn.example'],
  ['http://other/cdn%2eexample/a?', '/cdn.example/a?'],
  // Decoded once, and only as a whole segment.
  ['/cdn%252eexample/a', '/cdn%252eexample/a'],
  ['/cdn%2eexample%2fa', '/cdn%2eexample%2fa'],
  ['/cdn%2eexample%2/a', '/cdn%2eexample%2/a'],
  ['/CDN%2eexample/a', '/CDN%2eexample/a'],
  ['/v1%2f/a', '/v1%2f/a'],
  ['//cdn%2eexample/a', '//cdn%2eexample/a'],
  ['/', '/'],
  ['*', '*'],
])('reads the CDN host of %s as %s', (target, expected) => {
  expect(plainText(target)).toBe(expected);
});
