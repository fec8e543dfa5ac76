import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareDestinations,
  foldDestination,
  parseDestination,
  type Destination,
} from '../../../../src/domain/release/destination.ts';

function destination(text: string): Destination {
  const parsed = parseDestination(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

test.each([
  'a',
  'TableBundles/Excel.zip',
  'unity default resources',
  '日本語/テキスト.json',
  '...',
  '.hidden',
  'a..b',
  '-',
  '~',
  'a:b',
  '100%+&?#',
  'é',
  '😀/x',
  `${'a'.repeat(255)}/b`,
])('%j is a destination', (text) => {
  expect(parseDestination(text)).toEqual({ ok: true, value: text });
});

describe('an invalid destination names the broken rule', () => {
  test.each([
    ['', /empty/],
    ['/a', /relative/],
    ['a/', /empty segment/],
    ['a//b', /empty segment/],
    ['.', /segment/],
    ['..', /segment/],
    ['a/../b', /segment/],
    ['a/./b', /segment/],
    ['a\\b', /"\/"/],
    ['a\u0000b', /control/],
    ['a\nb', /control/],
    ['a\u007f', /control/],
    ['a\u0085', /control/],
    ['a\u2028b', /control/],
    ['a\u202egpj.exe', /control/],
    ['\ufeffa', /control/],
    ['\ud800', /surrogate/],
    ['e\u0301', /normalization/],
    ['a'.repeat(256), /255/],
    ['日'.repeat(86), /255/],
    [`${'a'.repeat(200)}/`.repeat(6).slice(0, -1), /1024/],
  ])('%j', (text, message) => {
    const parsed = parseDestination(text);
    if (parsed.ok) throw new Error('it was accepted');
    expect(parsed.error).toMatch(message);
  });
});

test('property: an accepted text has only safe segments and round-trips through UTF-8', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
      const parsed = parseDestination(text);
      if (!parsed.ok) return;
      expect(Buffer.from(parsed.value).toString()).toBe(text);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024);
      for (const segment of text.split('/')) expect(['', '.', '..']).not.toContain(segment);
    }),
    { numRuns: 1000 },
  );
});

test('property: destinations are ordered by their UTF-8 bytes', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', '/', 'é', '日', '\ue000', '\uffee', '😀', '\u{10ffff}'),
    maxLength: 6,
  });
  fc.assert(
    fc.property(text, text, (left, right) => {
      expect(Math.sign(compareDestinations(left, right))).toBe(
        Buffer.compare(Buffer.from(left), Buffer.from(right)),
      );
    }),
    { numRuns: 2000 },
  );
});

test('names that differ only in case fold together', () => {
  expect(foldDestination(destination('A/É.ZIP'))).toBe(foldDestination(destination('a/é.zip')));
  expect(foldDestination(destination('a'))).not.toBe(foldDestination(destination('b')));
});
