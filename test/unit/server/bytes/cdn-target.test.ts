import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDestination } from '../../../../src/domain/release/destination.ts';
import { parseCdnTarget } from '../../../../src/server/bytes/cdn-target.ts';

const PREFIX = '/cdn.example/';

test('property: every destination is reached by its encoded path, with any query', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
      fc.string(),
      (segments, query) => {
        const destination = segments
          .map((segment) => segment.normalize('NFC').replaceAll('/', '_'))
          .join('/');
        fc.pre(parseDestination(destination).ok);
        const bySegment = destination.split('/').map(encodeURIComponent).join('/');
        const asOneSegment = encodeURIComponent(destination);
        for (const encoded of [bySegment, asOneSegment, asOneSegment.replaceAll('%2F', '%2f')]) {
          expect(parseCdnTarget(`${PREFIX}${encoded}?${query}`, PREFIX)).toEqual({
            kind: 'path',
            path: destination,
          });
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('property: no resulting path has a segment that could leave a directory', () => {
  const piece = fc.constantFrom(
    'a',
    '.',
    '..',
    '/',
    '\\',
    '%2e',
    '%2E',
    '%2f',
    '%5c',
    '%00',
    '%25',
    '%',
    '2e',
    '?',
    '%c0%ae',
    '%e3%81%82',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const parsed = parseCdnTarget(PREFIX + pieces.join(''), PREFIX);
      if (parsed.kind !== 'path') return;
      expect(parsed.path).not.toMatch(/[\\\0]/);
      for (const segment of parsed.path.split('/')) expect(['', '.', '..']).not.toContain(segment);
    }),
    { numRuns: 2000 },
  );
});
