import { describe, expect, it } from 'vitest';
import { isSameLanguage } from '../../../../src/domain/text/language-tag.ts';

describe('two language tags', () => {
  it.each([
    ['ja', 'ja', true],
    ['JA', 'ja-JP', true],
    ['zh-CN', 'zh-Hans', true],
    ['zh', 'zh-Hans', true],
    ['zh-TW', 'zh-Hans', false],
    ['zh-Hant', 'zh-HK', true],
    ['en', 'en-GB', true],
    ['ja', 'ko', false],
    ['', 'ja', false],
    ['a b', 'ja', false],
  ])('%s and %s name the same language: %s', (left, right, same) => {
    expect(isSameLanguage(left, right)).toBe(same);
    expect(isSameLanguage(right, left)).toBe(same);
  });
});
