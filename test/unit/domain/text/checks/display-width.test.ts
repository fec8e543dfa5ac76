import { describe, expect, it } from 'vitest';
import { displayWidth } from '../../../../../src/domain/text/checks/display-width.ts';

describe('the display width', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['汉字', 4],
    ['ｱｲ', 2],
    ['ＡＢ', 4],
    ['e\u0301', 1],
    ['한글', 4],
    ['𠮟', 2],
    ['😀', 2],
    ['\u200b', 0],
    ['…', 1],
    ['\u{10ffff}', 1],
  ])('of %j is %d', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});
