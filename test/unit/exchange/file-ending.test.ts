import { describe, expect, it } from 'vitest';
import { endingOf } from '../../../src/exchange/file-ending.ts';
import { unitFormatOfName } from '../../../src/exchange/units/unit-formats.ts';

describe('endingOf', () => {
  it.each([
    ['memory.tmx', 'tmx'],
    ['folder.d/Terms.CSV', 'csv'],
    ['units.2026.jsonl', 'jsonl'],
    ['csv', ''],
    ['units.', ''],
  ])('of %s is "%s"', (name, ending) => {
    expect(endingOf(name)).toBe(ending);
  });
});

describe('unitFormatOfName', () => {
  it.each([
    ['units.xlf', 'xliff-1.2'],
    ['units.XLIFF', 'xliff-1.2'],
    ['units.csv', 'csv'],
    ['units.jsonl', 'jsonl'],
    ['units.txt', null],
    ['jsonl', null],
  ])('of %s is %s', (name, format) => {
    expect(unitFormatOfName(name)).toBe(format);
  });
});
