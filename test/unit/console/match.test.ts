import { describe, expect, it } from 'vitest';
import { bestMatches } from '../../../src/console/text/match.ts';

const found = (query: string, texts: readonly string[]): readonly string[] =>
  bestMatches(texts, query, { textOf: (text) => text, limit: 3 });

describe('the palette finds', () => {
  it('every word, and the begin of a word before its middle', () => {
    expect(found('pub', ['Republish', 'Localized publish', 'Publish', 'Sync'])).toEqual([
      'Publish',
      'Localized publish',
      'Republish',
    ]);
    expect(found('loc roll', ['Localized publish', 'Localized rollback'])).toEqual(['Localized rollback']);
  });

  it('everything for an empty query, up to the limit and in order', () => {
    expect(found(' ', ['c', 'b', 'a', 'd'])).toEqual(['c', 'b', 'a']);
  });

  it('texts of other scripts', () => {
    expect(found('先生', ['大切な先生', '生徒'])).toEqual(['大切な先生']);
  });
});
