import { describe, expect, it } from 'vitest';
import { createFieldGlob } from '../../../../src/domain/text/field-glob.ts';

describe('createFieldGlob', () => {
  it.each<[string, string, boolean]>([
    ['/rows/*/TextJp', '/rows/0/TextJp', true],
    ['/rows/*/TextJp', '/rows/0/a/TextJp', false],
    ['**/TextJp', '/rows/0/a/TextJp', true],
    ['lines[*].text', 'lines[12].text', true],
    ['lines[*].text', 'lines[12].x.text', false],
    ['m_Script#**', 'm_Script#/rows/0/TextJp', true],
    ['m_*', 'm_Name', true],
    ['m_*', 'm_Table.text', false],
    ['a+b', 'a+b', true],
    ['a+b', 'aab', false],
  ])('%s and %s: %s', (glob, path, expected) => {
    expect(createFieldGlob(glob)(path)).toBe(expected);
  });

  it('takes bounded time, whatever upstream calls its fields', () => {
    const test = createFieldGlob('**a**a**a**a**a**a**a**b');
    const start = performance.now();
    expect(test('a'.repeat(2000))).toBe(false);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
