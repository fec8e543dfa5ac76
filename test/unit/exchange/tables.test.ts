import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CsvScanner } from '../../../src/contract/formats/csv/scan-csv.ts';
import { spreadsheetRemark } from '../../../src/contract/formats/csv/spreadsheet-remark.ts';
import { withGuard, withoutGuard } from '../../../src/contract/formats/csv/spreadsheet-guard.ts';
import { isSameButLineEnds, lineEndForms, targetOfTable } from '../../../src/domain/text/line-ends.ts';
import { ExchangeFileError } from '../../../src/contract/formats/exchange-file-error.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { fileOf, readFile, sampleUnit, unitRecords, withoutState } from '../../support/exchange-units.ts';
import { readTermFile } from '../../support/exchanged-terms.ts';
import type { ReadResult, UnitRecord } from '../../../src/exchange/units/unit-record.ts';

type Format = Parameters<typeof readFile>[0];

async function read(format: Format, file: string | Uint8Array): Promise<ReadResult[]> {
  return await Promise.resolve(readFile(format, Buffer.from(file)));
}

async function tableOf(records: readonly UnitRecord[]): Promise<Buffer> {
  return await Promise.resolve(fileOf('csv', records));
}

/** The ids and targets of a table. */
async function targetsOf(file: string | Uint8Array): Promise<(string | null)[][]> {
  return (await read('csv', file)).map((result) =>
    result.kind === 'unit' ? [result.unit.unit_id, result.unit.target_text] : [result.message],
  );
}

const READ = [
  ['1', 'b'],
  ['2', null],
];

describe('the habits of spreadsheets', () => {
  it.each([
    ['leave out the last cells of a row', 'id,source,target,note\r\n1,a,b\r\n2,c\r\n'],
    ['leave out the last line end', 'id,source,target\r\n1,a,b\r\n2,c,'],
    ['write rows of empty cells', ',,\r\nid,source,target\r\n,,\r\n1,a,b\r\n"","",""\r\n2,c,\r\n,,\r\n'],
    ['name the delimiter', 'sep=;\r\nid;source;target\r\n1;a;b\r\n2;c;\r\n'],
    ['name the delimiter behind a mark', '\ufeffSEP=,\r\nid,source,target\r\n1,a,b\r\n2,c,\r\n'],
    ['name the delimiter in quotes', '"sep=\t"\nid\tsource\ttarget\n1\ta\tb\n2\tc\t\n'],
    [
      'write delimiters to the last column of the sheet',
      `id,source,target${','.repeat(16_000)}\n1,a,b\n2,c,\n`,
    ],
    ['end lines with CR', 'id;source;target\r1;a;b\r2;c;\r'],
  ])('%s', async (_, file) => {
    expect(await targetsOf(file)).toEqual(READ);
  });

  it('do not cut a row: cells of no column, and a damaged context, are refused or named', async () => {
    await expect(read('csv', 'id,source,target\n1,a,b,c\n')).rejects.toThrow(
      'line 2: the row has 4 cells instead of 3; put a text that has the delimiter in quotes',
    );
    for (const cut of ['1,a', '"1","a",']) {
      await expect(read('csv', `id,source,target\n${cut}`)).rejects.toThrow(
        /line 2: .*the file may be cut off/,
      );
    }
    expect(await read('csv', 'id,source,target,context\n1,a,b,{\n')).toMatchObject([
      { kind: 'problem', reason: 'value_invalid' },
    ]);
  });

  it.each(['', '\ufeff\n \n'])('have no counterpart in JSON lines: %j is refused as empty', async (file) => {
    await expect(read('jsonl', file)).rejects.toThrow(/^line [12]: the file is empty/);
  });

  it('is read as translate-toolkit and Weblate write it, with columns of their own', async () => {
    const file =
      '"location","source","target","id","fuzzy","context","translator_comments","developer_comments"\n"a.json:3","いち","一","1","False","3","","old"\n"","に","","2","True","[x]","",""\n';
    expect(await targetsOf(file)).toEqual([
      ['1', '一'],
      ['2', null],
    ]);
  });

  it.each(['utf-16le', 'utf-16be'])('write Unicode text as %s', async (encoding) => {
    const bytes = Buffer.from('\ufeffid\tsource\ttarget\r\n1\ta\t"汉\n字"\r\n', 'utf16le');
    const file = encoding === 'utf-16le' ? bytes : bytes.swap16();
    expect(await targetsOf(file)).toEqual([['1', '汉\n字']]);
  });

  it('write every cell as they read it, in their own form: a table survives in each of them', async () => {
    const forms: readonly ((rows: readonly string[][]) => Buffer)[] = [
      // Excel, “CSV UTF-8”, in a country that writes a decimal comma.
      (rows) =>
        Buffer.from(
          `\ufeff${rows.map((row) => row.map((cell) => quoted(cell, ';')).join(';')).join('\r\n')}\r\n`,
        ),
      // Excel, “Unicode text”.
      (rows) =>
        Buffer.from(
          `\ufeff${rows.map((row) => row.map((cell) => quoted(cell, '\t')).join('\t')).join('\r\n')}\r\n`,
          'utf16le',
        ),
      // Google Sheets: no last line end.
      (rows) => Buffer.from(rows.map((row) => row.map((cell) => quoted(cell, ',')).join(',')).join('\r\n')),
      // Excel, without the empty cells at the end of rows.
      (rows) =>
        Buffer.from(
          `${rows
            .map((row) =>
              withoutLast(row)
                .map((cell) => quoted(cell, ','))
                .join(','),
            )
            .join('\r\n')}\r\n`,
        ),
    ];
    await fc.assert(
      fc.asyncProperty(unitRecords('csv'), fc.constantFrom(...forms), async (records, form) => {
        const file = form(cellsOf(await tableOf(records)));
        const found = (await read('csv', file)).map((result) =>
          result.kind === 'unit' ? result.unit : result,
        );
        expect(found).toEqual(records.map((each) => withoutState(withSheetLineEnds(each))));
      }),
      { seed: 15, numRuns: 100 },
    );
  });
});

/** The cells of a table as a spreadsheet has them: with line feeds only. */
function cellsOf(table: Buffer): string[][] {
  return new CsvScanner().write(table.toString().slice(1)).map(({ cells }) => cells.map(sheetText));
}

function sheetText(text: string): string {
  return text.replaceAll(/\r\n|\r/g, '\n');
}

/** A unit whose texts have line feeds only. The context is JSON, which has no line ends. */
function withSheetLineEnds(record: UnitRecord): UnitRecord {
  const changed = JSON.parse(JSON.stringify(record), (_key, value: unknown) =>
    typeof value === 'string' ? sheetText(value) : value,
  ) as UnitRecord;
  return { ...changed, context: record.context };
}

function quoted(cell: string, delimiter: string): string {
  return cell.includes(delimiter) || /["\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function withoutLast(row: readonly string[]): string[] {
  return row.slice(0, row.findLastIndex((cell) => cell !== '') + 1);
}

describe('the guard of spreadsheets', () => {
  it.each([
    ' 12',
    '　1/2 ',
    ' TRUE',
    '(5)',
    '$5.00',
    '￥100',
    '10:30 PM',
    '令和6年1月1日',
    'H30.1.1',
    '午後3時',
    '１／２',
    '#N/A',
  ])('stands before %j', (cell) => {
    expect(withGuard(cell)).toBe(`'${cell}`);
    expect(withoutGuard(`'${cell}`)).toBe(cell);
  });

  it.each(['(笑)', '$', ' a 1', 'M 78', '……', '...', '#1'])('leaves %j alone', (cell) => {
    expect([withGuard(cell), withoutGuard(`'${cell}`)]).toEqual([cell, `'${cell}`]);
  });
});

describe('what a spreadsheet may have done to a target', () => {
  it.each([
    ['#NAME?', 'a', 'an error value'],
    ['#########', 'a', 'an error value'],
    ['x'.repeat(32_767), 'y'.repeat(40_000), 'its end may be missing'],
    ['1.23457E+18', '1234567890123456789', 'a shortened number'],
    ['1.23456789012346E+019', 'a', 'a shortened number'],
    ['1,2E-05', 'a', 'a shortened number'],
    ['TRUE', 'true', 'a truth value'],
    ['2-Jan', '1/2', 'a date'],
    ['Mar-04', 'March 4', 'a date'],
    ['01/02/26', '1/2', 'a date'],
    ['3月4日', '3/4', 'a date'],
    ['7', '007', 'the number 007 of the source'],
    ['5', '+5', 'the number +5 of the source'],
    ['1234567890123450000', '1234567890123456789', 'the number 1234567890123456789 of the source'],
  ])('shows in %j for the source %j', (target, source, expected) => {
    expect(spreadsheetRemark(target, source)).toContain(expected);
    // A cell with a guard is as it was written.
    expect(spreadsheetRemark(`'${target}`, source)).toBeNull();
    expect(spreadsheetRemark(target, target)).toBeNull();
  });

  it.each([
    ['8', '7'],
    ['true', 'はい'],
    ['# 1', 'a'],
    ['E+10', 'a'],
    ['Jan', 'a'],
    ['1/2', 'a'],
    ['', '1'],
  ])('does not show in %j for the source %j', (target, source) => {
    expect(spreadsheetRemark(target, source)).toBeNull();
  });

  it('is in the units and terms of a table, and nowhere in a table that we have written', async () => {
    const [unit] = await read('csv', 'id,source,target\n1,true,TRUE\n');
    expect(unit).toMatchObject({ table: { remark: expect.stringContaining('"TRUE"') } });
    expect(readTermFile('csv', 'source,translation\n1/2,2-Jan\n')).toMatchObject([
      { kind: 'term', remarks: [{ kind: 'spreadsheet_value', message: expect.stringContaining('"2-Jan"') }] },
    ]);
    for (const target_text of ['TRUE', '007', '1.5E+10', '2-Jan', '+5']) {
      const file = await tableOf([sampleUnit({ target_text, source_text: 'a' })]);
      expect(withGuard(target_text)).toBe(`'${target_text}`);
      expect(await read('csv', file)).toMatchObject([{ unit: { target_text }, table: { remark: null } }]);
    }
  });
});

describe('the line ends of a table', () => {
  it('are those of the stored target, else those of the source where it has one kind', () => {
    expect(targetOfTable('a\nb', 'a\r\nb', null)).toBe('a\r\nb');
    expect(targetOfTable('a\nb', null, 'x\r\ny')).toBe('a\r\nb');
    expect(targetOfTable('a\nb', 'c', 'x\ry\rz')).toBe('a\rb');
    expect(targetOfTable('a\nb', 'c', 'x\r\ny\nz')).toBe('a\nb');
    expect(targetOfTable('a\nb', 'c', null)).toBe('a\nb');
  });

  it('do not hide another text', () => {
    expect(isSameButLineEnds('a\r\nb', 'a\nb')).toBe(true);
    expect(isSameButLineEnds('a\r\nb', 'a\n\nb')).toBe(false);
    expect(isSameButLineEnds('a\r\nb', 'a b')).toBe(false);
    expect(lineEndForms('a\r\nb\rc')).toEqual(['a\nb\nc', 'a\r\nb\r\nc', 'a\rb\rc']);
    expect(lineEndForms('a')).toEqual([]);
  });
});

describe('damaged files', () => {
  const rows = [
    ['id', 'source', 'target', 'note', 'revision'],
    ['tu1_a', 'いろ\nは', '"a"; b\tc', "'=1", '3'],
    ['tu1_b', '007', '7', '', ''],
  ];
  const lines = rows.map((row) => row.map((cell) => quoted(cell, ';')).join(';'));
  const json = (values: object): string => `${JSON.stringify(values)}\n`;
  const FILES: Readonly<Record<string, readonly [Format, Buffer]>> = {
    'table of Excel': ['csv', Buffer.from(`\ufeffsep=;\r\n${lines.join('\r\n')}\r\n;;;;\r\n`)],
    'table in UTF-16': ['csv', Buffer.from(`\ufeff${lines.join('\r\n').replaceAll(';', '\t')}`, 'utf16le')],
    'file of JSON lines': [
      'jsonl',
      Buffer.from(
        json({ format: 'slipway-units-1', source_language: 'ja' }) +
          json({
            unit_id: 'tu1_a',
            source_text: 'い',
            target_text: 'a',
            context: { speaker: 'b' },
            revision: 2,
          }) +
          json({ end: true, units: 1 }),
      ),
    ],
  };

  it.each(Object.keys(FILES))(
    'of a %s are read or refused with line and reason: 2,000 mutations',
    async (name) => {
      const [format, original] = FILES[name] ?? ['csv', Buffer.alloc(0)];
      let refused = 0;
      for (const mutation of mutations(original, { seed: 15, count: campaignSize(2000, 40_000) })) {
        try {
          for (const result of await read(format, mutation)) {
            expect(result.line).toBeGreaterThan(0);
            if (result.kind === 'unit') expect(result.unit.source_text.length).toBeLessThan(mutation.length);
          }
        } catch (error) {
          refused += 1;
          expect(error).toBeInstanceOf(ExchangeFileError);
          expect((error as ExchangeFileError).message).toMatch(/^line [1-9]\d*: ./);
        }
      }
      expect(refused).toBeGreaterThan(100);
    },
  );
});
