import { describe, expect, it } from 'vitest';
import { mergeMatches } from '../../../src/console/translate/merge-matches.ts';
import { readableText } from '../../../src/console/text/text-tokens.ts';

type Match = Parameters<typeof mergeMatches>[0][number];

function match(record_id: string, source_text: string, proposed_text: string, use_count: number): Match {
  return { record: { record_id, source_text, use_count }, proposed_text } as Match;
}

describe('matches of the Translation Memory', () => {
  it('with the same texts are one row, and a record that is listed twice counts once', () => {
    const merged = mergeMatches([
      match('1', 'a', 'A', 2),
      match('2', 'a', 'A', 3),
      match('3', 'a', 'B', 0),
      match('1', 'a', 'A', 2),
      match('4', 'b', 'A', 1),
    ]);
    expect(merged.map(({ record, more, used }) => [record.record_id, more, used])).toEqual([
      ['1', 1, 5],
      ['3', 0, 0],
      ['4', 0, 1],
    ]);
  });
});

describe('a text in a list', () => {
  it.each([
    ['昨日、<ruby=しれいぶ>司令部</ruby>で{0}枚', '昨日、司令部で{0}枚'],
    ['one\ntwo', 'one two'],
    ['<b></b>', '<b></b>'],
  ])('leaves out the tags of %j', (text, shown) => {
    expect(readableText(text)).toBe(shown);
  });
});
