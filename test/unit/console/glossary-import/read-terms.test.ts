import { describe, expect, it } from 'vitest';
import { readTerms } from '../../../../src/console/translate/glossary-import/read-terms.ts';
import { createTermCsvReader } from '../../../../src/exchange/glossary/csv/read-csv.ts';

const PAIR = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };
const HEAD = 'source_term,recommended_translation,source_language,target_language,priority\n';

describe('a CSV file of terms in the console', () => {
  it('gives the terms that the command line reads from it', () => {
    const text =
      'term;translation;aliases;allowed_translations;scope;priority;status;note;id;other\r\n' +
      '先生;老师;"せんせい\n教師";教师;"{""speaker"":""アロナ""}";3;approved;a title;gt_1;x\r\n' +
      '\'+1;"加一";;;;;;;;\r\n' +
      ';;;;;;;;;\r\n' +
      '海;海;;;;1e3;;;;\r\n' +
      `駅;车站;"${'a\n'.repeat(1001)}";;;;;;;\r\n`;
    const reader = createTermCsvReader(PAIR);
    const expected = [...reader.write(Buffer.from(text)), ...reader.end()];
    const { terms, problems, others } = readTerms(text, PAIR);
    expect([...terms, ...problems]).toEqual(expected);
    expect([terms.map(({ line }) => line), others]).toEqual([[2, 4, 5], 0]);
    expect(problems).toEqual([
      { kind: 'problem', line: 6, message: 'the priority is not a whole number' },
      { kind: 'problem', line: 7, message: 'aliases has more than 1000 wordings' },
    ]);
  });

  it('leaves out rows of other languages, and knows a language by another tag', () => {
    const { terms, others } = readTerms(`${HEAD}a,b,ja,en,0\nc,d,JA,zh-cn,0\ne,f,,zh-TW,0\n`, PAIR);
    expect([terms.map(({ term }) => term.source_term), others]).toEqual([['c'], 2]);
  });

  it.each([
    ['without a column of terms', 'source_term,other\na,b\n', /^line 1: .*recommended_translation 0 times/],
    ['without a row', '', /^line 1: the table has no row/],
    ['with a quote that is not closed', `${HEAD}"open,2`, /^line 2: a quote is not closed/],
    ['with text behind a quote', `${HEAD}"x"y,2`, /^line 2: a cell continues/],
    ['that is cut behind a delimiter', `${HEAD}a,b,,,`, /^line 2: .*behind a delimiter/],
    ['whose last row is cut', `${HEAD}a,b,,,0\nc,d`, /^line 3: the row has 2 cells instead of 5/],
  ])('is refused %s', (_, text, message) => {
    expect(() => readTerms(text, PAIR)).toThrow(message);
  });

  it('is refused with more than 5,000 rows, of whatever kind', () => {
    const rows = (row: string, many: number): string => HEAD + row.repeat(many);
    expect(readTerms(rows('a,b,,,0\n', 5000), PAIR).terms.length).toBe(5000);
    for (const row of ['a,b,,,0\n', 'a,b,,,high\n', 'a,b,en,,0\n'])
      expect(() => readTerms(rows(row, 5001), PAIR)).toThrow(/more than 5000 rows/);
  });
});
