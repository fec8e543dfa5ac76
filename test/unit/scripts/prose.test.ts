import { describe, expect, it } from 'vitest';
import { findIdioms } from '../../../scripts/prose/find-idioms.ts';

/** Lines and words of the findings. */
const found = (path: string, text: string): Array<[number, string]> =>
  findIdioms(path, text).map(({ line, words }) => [line, words]);

describe('the prose check', () => {
  it.each([
    ['Who waits is served.', 'Who'],
    ['What {@link x} needs.', 'What'],
    ['It keeps what is damaged.', 'what is'],
    ['The server is told.', 'is told'],
    ['The task goes on.', 'goes on'],
    ['It is fetched anew.', 'anew'],
    ['It ends at once.', 'at once'],
    ['Give it to whoever asks.', 'whoever'],
    ['It has no settings but these.', 'no settings but'],
    ['All but for one.', 'but for'],
    ['The first has it to say.', 'has it to say'],
    ['See what comes of it.', 'comes of it'],
    ['It is no link.', 'is no link'],
  ])('finds the idiom of "%s"', (text, words) => {
    expect(found('page.md', text).map(([, match]) => match)).toContain(words);
  });

  it.each([
    'Who may write the volume?',
    'What is it? What is tested?',
    'An error says what is wrong and what to do.',
    'Flags go on the command line.',
    'There is no reason; it is no longer used, but it stays.',
    'Run `at once` as a command.',
    '```\nat once\n```',
  ])('accepts "%s"', (text) => {
    expect(found('page.md', text)).toEqual([]);
  });

  it('gives the line of an idiom in a paragraph, also across a line break', () => {
    expect(found('page.md', 'one\n\ntwo\nit ends at\nonce, and goes on\n')).toEqual([
      [4, 'at once'],
      [5, 'goes on'],
    ]);
  });

  it('reads only comments, strings and templates of code', () => {
    const code = [
      "import { anew } from './anew at once.ts';",
      '/**',
      ' * Ends at',
      ' * once.',
      ' */',
      'const goes_on = /goes on/;',
      '// It is',
      '// told.',
      "log('starts anew', `${anew} goes on`);",
    ].join('\n');
    expect(found('file.ts', code)).toEqual([
      [3, 'at once'],
      [7, 'is told'],
      [9, 'anew'],
      [9, 'goes on'],
    ]);
  });
});
