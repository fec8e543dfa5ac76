import { describe, expect, it } from 'vitest';
import { newLines } from '../../../src/cli/ctl/log-commands.ts';
import { cutLine } from '../../../src/platform/terminal/columns.ts';
import { helpColumns, wrapText } from '../../../src/platform/terminal/help-columns.ts';
import { parseOptions } from '../../../src/platform/terminal/parse-options.ts';
import { textBytes } from '../../../src/domain/text-bytes.ts';
import { displayWidth } from '../../../src/domain/text/checks/display-width.ts';
import {
  excerptAround,
  printable,
  textDuration,
  textExcerpt,
  textFields,
  textTable,
  textTime,
} from '../../../src/platform/terminal/text-table.ts';
import { usageError } from '../../../src/platform/terminal/usage-error.ts';

const RED = '\u001b[31m';
const END = '\u001b[39m';

describe('the width of a terminal', () => {
  it.each([
    ['a line that fits', 'abc', 3, 'abc'],
    ['a line that is too long', 'abcd', 3, 'ab…'],
    ['one column', 'abcd', 1, '…'],
    // A wide character that does not fit whole is left out.
    ['wide characters', '先生おはよう', 6, '先生…'],
    ['wide characters that fit', '先生', 4, '先生'],
    ['half-width forms', 'ｱﾛﾅﾃﾞｽ', 6, 'ｱﾛﾅﾃﾞｽ'],
    ['marks, which take no column', 'e\u0301e\u0301', 2, 'e\u0301e\u0301'],
    ['an emoji', 'a🎮b', 3, 'a…'],
    ['colours, which take no column', `${RED}ab${END}c`, 3, `${RED}ab${END}c`],
    ['colours of a line that is cut', `${RED}abcd${END}`, 3, `${RED}ab…\u001b[0m`],
  ])('%s', (_what, line, columns, expected) => {
    expect(cutLine(line, columns)).toBe(expected);
  });
});

describe('an excerpt around a word', () => {
  it.each([
    ['a text that fits', 'the gate', 'gate', 20, 'the gate'],
    ['a word at the beginning', 'gate and more', 'gate', 8, 'gate an…'],
    ['a word in the middle', '0123456789 gate 0123456789', 'gate', 12, '…89 gate 01…'],
    ['a word at the end', '0123456789 gate', 'gate', 8, '…89 gate'],
    ['wide characters', '今日はとても暑いアビドスへようこそ', 'アビドス', 16, '…いアビドスへよ…'],
    ['a word that is wider than the columns', '01 abcdefgh', 'abcdefgh', 4, '…ab…'],
    ['a text without the word', '0123456789', 'gate', 4, '012…'],
  ])('%s', (_what, text, word, columns, expected) => {
    expect(excerptAround(text, word, columns)).toBe(expected);
    expect(displayWidth(expected)).toBeLessThanOrEqual(columns);
  });
});

describe('the columns of a help text', () => {
  it('breaks a text between words, and keeps brackets and long words whole', () => {
    expect(wrapText('one [two three] four', 9)).toEqual(['one', '[two three]', 'four']);
    expect(wrapText('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrapText('', 7)).toEqual([]);
  });

  it('puts a long left text on a line of its own, and wraps the right one', () => {
    const long = `copy ${'[--option NAME] '.repeat(8)}`.trimEnd();
    expect(
      helpColumns([
        ['go', 'a '.repeat(60).trimEnd()],
        [long, 'copies'],
      ]).split('\n'),
    ).toEqual([
      `  go  ${'a '.repeat(47).trimEnd()}`,
      `      ${'a '.repeat(13).trimEnd()}`,
      `  copy ${'[--option NAME] '.repeat(5).trimEnd()}`,
      `      ${'[--option NAME] '.repeat(3).trimEnd()}`,
      '      copies',
      '',
    ]);
  });
});

const OPTIONS = { output: { type: 'string', short: 'o' }, wait: { type: 'boolean' } } as const;

describe('wrong options', () => {
  it.each([
    [['--ouptut', 'json'], 'there is no option --ouptut; did you mean "--output"?'],
    [['--zebra'], 'there is no option --zebra'],
    [['-z'], 'there is no option -z'],
    [['--output'], '--output needs a value'],
    [['--output', '--wait'], '--output needs a value'],
    [['-o'], '--output needs a value'],
    [['--wait=yes'], '--wait takes no value'],
    [['word "x"'], 'unexpected argument "word "x""'],
  ])('%j are named in one short sentence', (args, problem) => {
    expect(parseOptions({ args, options: OPTIONS })).toEqual({ ok: false, error: problem });
  });

  it('do not hide good ones', () => {
    const parsed = parseOptions({ args: ['-o', 'x', 'w'], options: OPTIONS, allowPositionals: true });
    expect(parsed).toMatchObject({ ok: true, value: { values: { output: 'x' }, positionals: ['w'] } });
    expect(usageError('slipway x', 'no')).toBe('slipway x: no\nFor help: slipway x --help\n');
  });
});

describe('tables in a terminal', () => {
  describe('text for a terminal', () => {
    it('never contains terminal control characters', () => {
      expect(printable('a\u001b[2Jb\r\nc\u0007\u009b31m\u202ed')).toBe(
        'a\\x1b[2Jb\\x0d\\x0ac\\x07\\x9b31m\\u202ed',
      );
      expect(textTable(['A'], [['x\u001b]0;title\u0007']])).toBe('A\nx\\x1b]0;title\\x07\n');
    });

    it('is aligned in columns, without white space at the end', () => {
      expect(
        textTable(
          ['ID', 'STATE', 'WHY'],
          [
            ['long-name', 'ok', ''],
            ['b', 'failed', 'x'],
          ],
        ),
      ).toBe('ID         STATE   WHY\nlong-name  ok\nb          failed  x\n');
    });

    it('is aligned by the columns that a terminal gives to characters, however many code units they have', () => {
      const rows = [
        ['先生おはよう', 'ok'],
        ['😀e\u0301', 'failed'],
      ];
      expect(textTable(['TEXT', 'STATE'], rows)).toBe(
        'TEXT          STATE\n先生おはよう  ok\n😀e\u0301           failed\n',
      );
      expect(
        textFields([
          ['名前', 'a'],
          ['id', 'b'],
        ]),
      ).toBe('名前: a\nid:   b\n');
      expect(textExcerpt('先生おはよう', 7)).toBe('先生お…');
    });

    it('shows times, lengths and sizes in their largest unit', () => {
      expect(textTime(1_763_683_200, 1_763_683_500)).toBe('2025-11-21 00:00:00Z (5m ago)');
      expect(textTime(1_763_686_800, 1_763_683_200)).toBe('2025-11-21 01:00:00Z (in 1h)');
      expect([textTime(null, 0), textTime(2n ** 63n - 1n, 0)]).toEqual(['-', '9223372036854775807']);
      expect([0, 59, 60, 3600, 200_000].map(textDuration)).toEqual(['0s', '59s', '1m', '1h', '2d']);
      expect([0, 1023, 1024, 6_442_450_944].map(textBytes)).toEqual(['0 B', '1023 B', '1.0 KiB', '6.0 GiB']);
    });
  });

  describe('new lines in a window on a log', () => {
    it.each([
      ['nothing new', [1, 2, 3], [1, 2, 3], []],
      ['some more', [1, 2], [1, 2, 3, 4], [3, 4]],
      ['a window that moved', [1, 2, 3], [2, 3, 4], [4]],
      ['equal lines', [1, 1, 1], [1, 1, 1, 1], [1]],
      ['equal lines in a full window: as few as possible', [7, 7], [7, 7], []],
      ['no overlap', [1, 2], [5, 6], [5, 6]],
      ['a shorter log, after a restart', [1, 2, 3], [9], [9]],
      ['the first lines', [], [1], [1]],
    ])('%s', (_what, before, after, expected) => {
      expect(newLines(before, after)).toEqual(expected);
    });
  });
});
