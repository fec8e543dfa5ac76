import { expect, it } from 'vitest';
import { helpColumns, wrapText } from '../../../../src/platform/terminal/help-columns.ts';

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
