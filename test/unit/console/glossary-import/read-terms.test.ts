import { describe, expect, it } from 'vitest';
import { readTable } from '../../../../src/console/translate/glossary-import/read-table.ts';
import { readTerms } from '../../../../src/console/translate/glossary-import/read-terms.ts';
import { createTermCsvReader } from '../../../../src/exchange/glossary/csv/read-csv.ts';

const PAIR = { source_language: 'ja', target_language: 'zh-Hans' };

describe('a CSV file of terms in the console', () => {
  it.each([
    [
      'a,b\r\n1,2\r\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a;b\n1,5;"x;y"\n',
      [
        ['a', 'b'],
        ['1,5', 'x;y'],
      ],
    ],
    [
      'a\tb\r"say ""so""\nhere"\t\r',
      [
        ['a', 'b'],
        ['say "so"\nhere', ''],
      ],
    ],
    [
      'a,b\n\n1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
  ])('is split into the cells of %j', (text, cells) => {
    expect(readTable(text).map((row) => row.cells)).toEqual(cells);
  });

  it('names the line of a row that begins behind a cell of several lines', () => {
    expect(readTable('a,b\n"1\n2",x\n3,4').map(({ line }) => line)).toEqual([1, 2, 4]);
  });

  it.each(['a,b\n"open,2', 'a,b\n"x"y,2'])('is refused with its line: %j', (text) => {
    expect(() => readTable(text)).toThrow(/^Line 2: a quote is not closed/);
  });

  it('gives the terms that the command line reads from it', () => {
    const text =
      '\uFEFFterm,translation,aliases,allowed_translations,scope,priority,status,note,id,other\r\n' +
      '先生,老师,"せんせい\n教師",教师,"{""speaker"":""アロナ""}",3,approved,a title,gt_1,x\r\n' +
      '\'+1,"加一",,,,,,,,\r\n';
    const reader = createTermCsvReader({ sourceLanguage: 'ja', targetLanguage: 'zh-Hans' });
    const expected = [...reader.write(Buffer.from(text)), ...reader.end()].flatMap((result) =>
      result.kind === 'term' ? [{ ...result.term, line: result.line }] : [],
    );
    const { terms, problems, others } = readTerms(text, PAIR);
    expect([problems, others]).toEqual([[], 0]);
    expect(expected.length).toBe(2);
    expect(
      terms.map(({ source, ...term }) => ({
        ...term,
        source_ref: source['source_ref'] ?? null,
        source_author: source['source_author'] ?? null,
        source_note: source['source_note'] ?? null,
      })),
    ).toEqual(expected);
  });

  it('leaves out rows of other languages, and names rows that cannot be read', () => {
    const text =
      'source_term,recommended_translation,source_language,target_language,priority\n' +
      'a,b,ja,en,0\nc,d,JA,zh-hans,0\ne,f,,,high\ng,h\n';
    const { terms, problems, others } = readTerms(text, PAIR);
    expect([terms.map(({ source_term: term }) => term), others]).toEqual([['c'], 1]);
    expect(problems).toEqual([
      { line: 4, message: 'the priority is not a whole number' },
      { line: 5, message: 'the row has 2 cells instead of 5' },
    ]);
  });

  it('is refused without the columns of a term', () => {
    expect(() => readTerms('source_term,other\na,b\n', PAIR)).toThrow(/recommended_translation 0 times/);
    expect(() => readTerms('', PAIR)).toThrow(/source_term 0 times/);
  });
});
