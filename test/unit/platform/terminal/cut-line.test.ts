import { expect, it } from 'vitest';
import { cutLine } from '../../../../src/platform/terminal/cut-line.ts';

const RED = '\u001b[31m';
const END = '\u001b[39m';

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
