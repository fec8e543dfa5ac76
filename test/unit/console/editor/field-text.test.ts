import { describe, expect, it } from 'vitest';
import {
  fieldOffset,
  fromField,
  sizeOf,
  toField,
} from '../../../../src/console/translate/editor/field-text.ts';

describe('the text of a field', () => {
  it('gets the line ends of the source back', () => {
    expect(fromField(toField('a\r\nb\rc\nd'), 'x\r\ny')).toBe('a\r\nb\r\nc\r\nd');
    expect(fromField('a\nb', 'x\ry')).toBe('a\rb');
    expect(fromField('a\nb', 'x')).toBe('a\nb');
  });

  it('has the places of findings one character earlier for each line end of two', () => {
    expect([0, 1, 3, 4].map((offset) => fieldOffset('a\r\nb', offset))).toEqual([0, 1, 2, 3]);
  });

  it('is counted in characters and lines as the checks do', () => {
    expect(sizeOf('😀\\nb<br>c\r\nd')).toEqual({ characters: 12, lines: 4 });
    expect(sizeOf('')).toEqual({ characters: 0, lines: 0 });
  });
});
