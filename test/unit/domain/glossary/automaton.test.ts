import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAutomaton } from '../../../../src/domain/glossary/automaton.ts';

type Found = readonly [pattern: number, end: number];

function search(patterns: readonly string[], text: string): Found[] {
  const found: Found[] = [];
  createAutomaton(patterns).find(text, (pattern, end) => found.push([pattern, end]));
  return found;
}

/** At every end, the patterns that end there, the longest first. */
function naive(patterns: readonly string[], text: string): Found[] {
  const longestFirst = patterns
    .map((pattern, index) => ({ pattern, index }))
    .sort((left, right) => right.pattern.length - left.pattern.length);
  return Array.from({ length: text.length + 1 }, (_, end) =>
    longestFirst
      .filter(({ pattern }) => end >= pattern.length && text.slice(end - pattern.length, end) === pattern)
      .map(({ index }): Found => [index, end]),
  ).flat();
}

function word(letters: string, least: number, most: number): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...Array.from(letters)), minLength: least, maxLength: most });
}

describe('createAutomaton', () => {
  it('finds what a naive search finds, in its order', () => {
    const patterns = fc.uniqueArray(fc.oneof(word('ab', 1, 6), word('abcdefghijあア先', 1, 3)), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(
        patterns,
        fc.oneof(word('ab', 0, 60), word('abcdefghijあア先', 0, 60)),
        (patterns, text) => {
          expect(search(patterns, text)).toEqual(naive(patterns, text));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['no patterns', [], 'abc', []],
    ['an empty text', ['a'], '', []],
    [
      'patterns inside of each other',
      ['she', 'he', 'hers', 'e'],
      'ushers',
      [
        [0, 4],
        [1, 4],
        [3, 4],
        [2, 6],
      ],
    ],
    [
      'halves of a surrogate pair',
      ['\ud83d', '\ude00'],
      '\u{1f600}',
      [
        [0, 1],
        [1, 2],
      ],
    ],
  ] as const)('handles %s', (_, patterns, text, expected) => {
    expect(search(patterns, text)).toEqual(expected);
  });

  it('finds what a naive search finds in a wide alphabet with many patterns', () => {
    // Few first characters have hundreds of children, and most have a few: their places are packed between each other.
    const letter = (index: number): string => String.fromCharCode(0x4e00 + ((index * 7919) % 997));
    const patterns = Array.from(
      { length: 4000 },
      (_, index) =>
        letter(index % (index % 3 === 0 ? 5 : 600)) +
        letter(index) +
        (index % 4 === 0 ? letter(index * index) : ''),
    );
    const distinct = [...new Set(patterns)];
    const text = Array.from({ length: 300 }, (_, index) => distinct[(index * 31) % distinct.length]).join('');
    expect(search(distinct, text)).toEqual(naive(distinct, text));
  });

  it('has states with more children than are looked at one by one', () => {
    const patterns = Array.from({ length: 3000 }, (_, index) => `あ${String.fromCharCode(0x4e00 + index)}`);
    const text = patterns.join('');
    expect(search(patterns, text)).toEqual(patterns.map((_, index) => [index, 2 * index + 2]));
  });
});
