import { describe, expect, it } from 'vitest';
import { findPlaceholders, splitPlaceholders } from '../../../../src/domain/text/placeholders.ts';

describe('findPlaceholders', () => {
  it.each<[string, readonly string[]]>([
    ['おはよう、{name}先生', ['{name}']],
    ['{0}個の石を{1:N0}', ['{0}', '{1:N0}']],
    ['{count, plural, one {# 個} other {# 個}}', ['{count, plural, one {# 個} other {# 個}}']],
    ['<color=#ff8800>注意</color><#fff>白<br>', ['<color=#ff8800>', '</color>', '<#fff>', '<br>']],
    ['%sは%1$dを%.2f', ['%s', '%1$d', '%.2f']],
    ['100%しかない', []],
    ['a < b > c', []],
    ['{name}と{name}', ['{name}', '{name}']],
    ['閉じない{name', []],
  ])('finds those of %s', (text, expected) => {
    expect(findPlaceholders(text)).toEqual(expected);
  });

  it('takes time in proportion to the text', () => {
    for (const text of ['{'.repeat(200_000), `%${'0'.repeat(200_000)}`, '<a'.repeat(100_000)]) {
      expect(findPlaceholders(text)).toEqual([]);
    }
  });
});

describe('splitPlaceholders', () => {
  it('gives plain text and placeholders in turn', () => {
    expect(splitPlaceholders('{0}と<b>名</b>')).toEqual(['', '{0}', 'と', '<b>', '名', '</b>', '']);
    expect(splitPlaceholders('はい')).toEqual(['はい']);
  });
});
