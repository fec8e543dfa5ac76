import { describe, expect, it } from 'vitest';
import { normalText } from '../../../../src/domain/text/normal-text.ts';
import { fieldClass, repetitionKey } from '../../../../src/domain/translation/repetition.ts';

describe('repetitions', () => {
  it.each([
    ['/rows/0/TextJp', '/rows/*/TextJp'],
    ['m_Script#/rows/17/TextJp', 'm_Script#/rows/*/TextJp'],
    ['lines[3].text', 'lines[*].text'],
    ['row[Id=1001].text', 'row[*].text'],
    ['/chapter2/title', '/chapter2/title'],
    ['/rows/3', '/rows/*'],
  ])('%s is of the class %s', (path, expected) => {
    expect(fieldClass(path)).toBe(expected);
  });

  it('joins texts that differ in composition and line ends only, and trims nothing', () => {
    expect(normalText('か\u3099\r\n')).toBe('が\n');
    expect(normalText(' a ')).toBe(' a ');
  });

  it('keeps another speaker, class of field or text apart', () => {
    const unit = { sourceText: 'はい', speaker: 'アロナ', fieldPath: '/rows/1/TextJp' };
    expect(repetitionKey({ ...unit, fieldPath: '/rows/2/TextJp' })).toBe(repetitionKey(unit));
    const others = [{ speaker: null }, { fieldPath: '/rows/1/Name' }, { sourceText: 'はい。' }];
    for (const other of others) expect(repetitionKey({ ...unit, ...other })).not.toBe(repetitionKey(unit));
  });
});
