import { stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { writeZip } from '../../../demo/game/demo-zip.ts';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import { ExchangeFileError } from '../../../src/contract/formats/exchange-file-error.ts';
import { createUnitReader, readUnits, writeUnits } from '../../../src/exchange/units/unit-formats.ts';
import { createSheetNames } from '../../../src/exchange/xlsx/sheet-names.ts';
import { bytesSource } from '../../../src/formats/byte-source.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { openZip } from '../../../src/formats/zip/open-zip.ts';
import { fileOf, LANGUAGES, readFile, sampleUnit, withoutState } from '../../support/exchange-units.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import {
  packedWorkbook,
  relationship,
  storedWorkbook,
  workbookParts,
  type WorkbookParts,
} from '../../support/workbook-parts.ts';

const HEAD = '<row r="1"><c r="A1" t="str"><v>source</v></c><c r="B1" t="str"><v>target</v></c></row>';

/** The units of a workbook as pairs of texts, and the lines and messages of those that cannot be used. */
async function read(parts: WorkbookParts): Promise<unknown[]> {
  return (await readFile('xlsx', await packedWorkbook(workbookParts(parts)))).map((result) =>
    result.kind === 'unit'
      ? [result.unit.source_text, result.unit.target_text]
      : [result.line, result.message],
  );
}

async function refusalOf(bytes: Uint8Array): Promise<string> {
  try {
    await readFile('xlsx', bytes);
  } catch (error) {
    if (!(error instanceof ExchangeFileError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
  return 'accepted';
}

/** A sheet with one unit: the cells of its row. */
function row(cells: string, at = 2): string {
  return `${HEAD}<row r="${at}">${cells}</row>`;
}

const SOURCE = '<c r="A2" t="str"><v>a</v></c>';

describe('the names of sheets', () => {
  it('are short, allowed and different, also in upper and lower case', () => {
    const name = createSheetNames();
    expect(
      [
        'Table/a.json',
        'Other/A.JSON',
        'x/[a]:b*c?.json',
        "d/'quoted'",
        'History',
        'folder/',
        '',
        `${'漢'.repeat(40)}.json`,
        `${'漢'.repeat(40)}.csv`,
        '𠮷'.repeat(20),
      ].map(name),
    ).toEqual([
      'a.json',
      'A.JSON (2)',
      '_a__b_c_.json',
      '_quoted_',
      'History (2)',
      'folder',
      'file',
      `${'漢'.repeat(30)}…`,
      `${'漢'.repeat(26)}… (2)`,
      `${'𠮷'.repeat(15)}…`,
    ]);
  });
});

describe('a workbook that is written', () => {
  const units = [
    sampleUnit({ unit_id: 'tu1_a', source_text: '=1+1', target_text: '+1' }),
    sampleUnit({ unit_id: 'tu1_b', target_text: null, state: 'untranslated' }),
    sampleUnit({
      unit_id: 'tu1_c',
      locator: { ...sampleUnit().locator, destination: 'Other/ScenarioScript.zip' },
    }),
  ];

  it('has a sheet for each file, a row of names that stays, locked sources and wrapped texts', async () => {
    const zip = openZip(bytesSource(await fileOf('xlsx', units)), READ_LIMITS);
    const partOf = (name: string): string =>
      zip.entries
        .filter((entry) => entry.name === name)
        .map((entry) => zip.readEntry(entry).toString())
        .join('');
    expect(zip.entries[0]?.name).toBe('[Content_Types].xml');
    expect(partOf('xl/workbook.xml').match(/name="[^"]*"/g)).toEqual([
      'name="ScenarioScript.zip"',
      'name="ScenarioScript.zip (2)"',
    ]);
    const sheet = partOf('xl/worksheets/sheet1.xml');
    expect(sheet).toContain('<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>');
    expect(sheet).toContain('<sheetProtection sheet="1"');
    // Notes do not come back.
    expect(sheet).toMatch(/<c r="E2" s="[12]"/);
    // A text that begins with "=" is a text, and an empty target can be written.
    expect(sheet).toContain('<c r="C2" s="2" t="inlineStr"><is><t xml:space="preserve">=1+1</t></is></c>');
    expect(sheet).toContain('<c r="D3" s="3"/>');
    expect(sheet).not.toContain('<f>');
    const formats = [...partOf('xl/styles.xml').matchAll(/<alignment[^/]*\/><protection[^/]*\/>/g)].map(
      ([each]) => each,
    );
    expect(formats[2]).toContain('wrapText="1"/><protection locked="0"');
    expect(formats[1]).toContain('wrapText="1"/><protection locked="1"');
  });

  it('is the same each time, has a sheet without units, and refuses a text that no cell holds', async () => {
    expect(await fileOf('xlsx', units)).toEqual(await fileOf('xlsx', units));
    expect(await readFile('xlsx', await fileOf('xlsx', []))).toEqual([]);
    await expect(fileOf('xlsx', [sampleUnit({ target_text: 'x'.repeat(32_768) })])).rejects.toThrow(
      /tu1_\w+: target_text: a cell of XLSX has at most 32767 characters/,
    );
  });
});

describe('a workbook of many files', () => {
  const unitOf = (at: number) =>
    sampleUnit({ unit_id: `tu1_${at}`, locator: { ...sampleUnit().locator, destination: `${at}.json` } });

  it('has at most 1,000 sheets, the last one with all other files', async () => {
    const units = Array.from({ length: 1005 }, (_, at) => unitOf(at));
    const bytes = await fileOf('xlsx', units);
    const sheets = openZip(bytesSource(bytes), READ_LIMITS).entries.filter(({ name }) =>
      name.includes('sheets/'),
    );
    expect(sheets).toHaveLength(1000);
    const found = (await readFile('xlsx', bytes)).map((result) =>
      result.kind === 'unit' ? result.unit : result,
    );
    expect(found).toEqual(units.map(withoutState));
  });

  it('ends with the error of its units, and without any more of them when nobody reads on', async () => {
    const count = { written: () => undefined, refused: () => undefined };
    const file = { format: 'xlsx', languages: LANGUAGES } as const;
    const failing = async function* () {
      yield unitOf(1);
      throw new Error('the release changed');
    };
    const read = async (parts: AsyncIterable<unknown>): Promise<void> => {
      for await (const _part of parts);
    };
    await expect(read(writeUnits(file, failing(), count))).rejects.toThrow('the release changed');
    let isClosed = false;
    const endless = async function* () {
      try {
        for (let at = 0; ; at += 1) yield unitOf(at % 50_000);
      } finally {
        isClosed = true;
      }
    };
    for await (const part of writeUnits(file, endless(), count)) if (part.length > 1000) break;
    expect(isClosed).toBe(true);
  });
});

describe('a workbook of another program', () => {
  it('gives shared texts with their runs, and leaves reading aids out', async () => {
    const texts =
      '<si><t>先生</t><rPh sb="0" eb="2"><t>せんせい</t></rPh></si><si><r><t xml:space="preserve">a </t></r><r><rPr><b/></rPr><t>b</t></r></si><si><t>x_x000D_y_x005F_x000D_</t></si><si/>';
    const rows = row('<c r="A2" t="s"><v>0</v></c><c r="B2" t="s"><v>1</v></c>');
    const more = '<row r="3"><c t="s"><v>2</v></c><c t="s"><v>3</v></c></row>';
    expect(await read({ sheets: [rows + more], texts })).toEqual([
      ['先生', 'a b'],
      ['x\ry_x000D_', null],
    ]);
  });

  it.each([
    ['<c r="B2"><v>12</v></c>', '12'],
    ['<c r="B2" s="1"><v>12.5</v></c>', '12.50'],
    ['<c r="B2" s="2"><v>45720</v></c>', '2025-03-04'],
    ['<c r="B2" s="3"><v>0.25</v></c>', '25%'],
    ['<c r="B2" s="4"><v>3</v></c>', '3'],
    ['<c r="B2" s="99"><v>1e3</v></c>', '1000'],
    ['<c r="B2" t="b"><v>1</v></c>', 'TRUE'],
    ['<c r="B2" t="inlineStr"><is><t>=1+1</t></is></c>', '=1+1'],
    ['<c r="B2" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c>', 'ab'],
    ['<c r="B2" t="d"><v>2025-03-04</v></c>', '2025-03-04'],
    ['<c r="B2"/><c r="XFD2"><v>1</v></c>', null],
  ])('gives what a cell shows: %s', async (cell, target) => {
    const styles =
      '<numFmts><numFmt numFmtId="200" formatCode="yyyy-mm-dd"/><numFmt numFmtId="201" formatCode="[broken"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="2"/><xf numFmtId="200"/><xf numFmtId="9"/><xf numFmtId="201"/></cellXfs>';
    expect(await read({ sheets: [row(SOURCE + cell)], styles })).toEqual([['a', target]]);
  });

  it.each([
    ['<c r="B2" s="2"><v>45720</v></c>', 'the target "2025-03-04" is a date'],
    ['<c r="B2" s="1"><v>1.2e18</v></c>', 'is a number, a date or a truth value and no text'],
    ['<c r="B2" t="d"><v>2025-03-04T10:00</v></c>', 'is a number, a date or a truth value and no text'],
    ['<c r="B2" t="b"><v>1</v></c>', 'the target "TRUE" is a truth value'],
    [`<c r="B2" t="str"><v>${'x'.repeat(32_767)}</v></c>`, 'its end may be missing'],
    ['<c r="B2" t="str"><v>12</v></c>', null],
    ['<c r="B2"><v>7</v></c>', null],
  ])('says what a spreadsheet may have done to a target: %#', async (cell, remark) => {
    const styles =
      '<numFmts><numFmt numFmtId="200" formatCode="yyyy-mm-dd"/></numFmts><cellXfs><xf/><xf numFmtId="1"/><xf numFmtId="200"/></cellXfs><dxfs><dxf><numFmt numFmtId="200" formatCode="0.00"/></dxf></dxfs>';
    const sheets = [row(SOURCE.replace('>a<', '>7<') + cell)];
    const [result] = await readFile('xlsx', await packedWorkbook(workbookParts({ sheets, styles })));
    expect(result).toMatchObject({
      sheet: 'Sheet 1',
      line: 2,
      table: { remark: remark === null ? null : (expect.stringContaining(remark) as string) },
    });
  });

  it('counts days from 1904 where the workbook does', async () => {
    const styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>';
    const properties = '<workbookPr date1904="1"/>';
    const sheets = [row(`${SOURCE}<c r="B2" s="1"><v>44258</v></c>`)];
    expect(await read({ sheets, styles, properties })).toEqual([['a', '3/4/2025']]);
  });

  it.each([
    [
      '<c r="B2" t="str"><f>UPPER(A2)</f><v>A</v></c>',
      'the cell B2 has a formula; replace it by its text (paste as values)',
    ],
    [
      '<c r="B2"><f t="shared" si="0"/><v>2</v></c>',
      'the cell B2 has a formula; replace it by its text (paste as values)',
    ],
    ['<c r="B2" t="e"><v>#NAME?</v></c>', 'the cell B2 shows the error #NAME?'],
  ])('never takes a formula or an error for a text: %s', async (cell, message) => {
    expect(await read({ sheets: [row(SOURCE + cell)] })).toEqual([[2, message]]);
  });

  it('may have other columns with formulas, empty rows, and sheets that are no tables; it says what it leaves out', async () => {
    const table =
      '<row r="2"><c r="B2" t="str"><v>Source</v></c><c r="C2" t="str"><v>words</v></c><c r="D2" t="str"><v>Translation</v></c></row><row r="3"/><row r="4"><c r="B4" s="1"/></row><row r="5"><c r="B5" t="str"><v>a</v></c><c r="C5"><f>LEN(B5)</f><v>1</v></c><c r="D5" t="str"><v>b</v></c></row>';
    const parts = workbookParts({
      sheets: [
        '<row r="1"><c r="A1" t="str"><v>My notes</v></c></row><row r="2"><c r="A2"><f>1</f></c></row>',
        table,
      ],
      related:
        relationship('m', 'vbaProject', 'vbaProject.bin') +
        relationship('x', 'externalLink', 'externalLinks/externalLink1.xml'),
      others: { 'xl/vbaProject.bin': 'macros' },
    });
    const reader = createUnitReader('xlsx');
    const bytes = await packedWorkbook(parts);
    const results = [];
    for await (const result of readUnits(
      reader,
      (async function* () {
        yield bytes;
      })(),
    ))
      results.push(result);
    expect(results).toMatchObject([{ kind: 'unit', line: 5, unit: { source_text: 'a', target_text: 'b' } }]);
    expect(reader.notices?.()).toEqual([
      'the macros of the workbook were left out',
      'the links of the workbook to other files were not followed',
      'left out, because their first row does not name the columns: the sheets "Sheet 1"',
    ]);
  });

  it('may have parts that are not compressed, also while its reader waits between the rows', async () => {
    const rows = Array.from(
      { length: 300 },
      (_, at) => `<row><c t="str"><v>a${at}</v></c><c t="str"><v>b</v></c></row>`,
    );
    const bytes = await storedWorkbook(workbookParts({ sheets: [HEAD + rows.join('')] }));
    const pieces = async function* () {
      yield bytes;
    };
    let units = 0;
    for await (const result of readUnits(createUnitReader('xlsx'), pieces())) {
      await stat(import.meta.filename);
      if (result.kind === 'unit') units += 1;
    }
    expect(units).toBe(300);
  });

  const TEXTS = campaignSize(20_000, 1_000_000);
  it(`may have ${TEXTS} shared texts, and other work goes on meanwhile`, async () => {
    const texts = Array.from({ length: TEXTS }, (_, at) => `<si><t>文${at}</t></si>`).join('');
    const last = TEXTS - 1;
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    try {
      const rows = row(`<c r="A2" t="s"><v>${last}</v></c><c r="B2" t="s"><v>0</v></c>`);
      expect(await read({ sheets: [rows], texts })).toEqual([[`文${last}`, '文0']]);
    } finally {
      clearInterval(timer);
    }
    expect(turns).toBeGreaterThan(2);
  });
});

describe('a workbook that cannot be read', () => {
  it.each<[WorkbookParts, RegExp]>([
    [
      { sheets: [] },
      /^structure_invalid: line 1: no sheet has a first row with the columns source_text and target_text/,
    ],
    [
      { sheets: ['<row r="1"><c t="str"><v>source</v></c></row>'] },
      /^structure_invalid: line 1: no sheet has a first row/,
    ],
    [
      { sheets: [`${HEAD}<row r="1"/>`] },
      /^structure_invalid: line 1: the sheet "Sheet 1": row 1: the row "1" does not follow the row 1/,
    ],
    [
      { sheets: [row(SOURCE) + row('<c r="A9" t="s"><v>7</v></c>', 3).replace(HEAD, '')] },
      /^structure_invalid: line 3: the sheet "Sheet 1": row 3: there is no shared text "7"/,
    ],
    [
      { sheets: [row('<c r="1A"/>')] },
      /^structure_invalid: line 2: the sheet "Sheet 1": row 2: "1A" is not the place/,
    ],
    [
      { sheets: [HEAD.replace('</row>', '<c r="C1" t="str"><v>Translation</v></c></row>')] },
      /^structure_invalid: line 1: the sheet "Sheet 1": row 1: the first row names the column target_text 2 times/,
    ],
    [
      { sheets: [HEAD], texts: `<si>${`<r><t>${'x'.repeat(2 ** 19)}</t></r>`.repeat(3)}</si>` },
      /^limit_exceeded: line 1: the part "xl\/sharedStrings.xml": a shared text has more than 1048576/,
    ],
    [
      { sheets: [HEAD], properties: '<sheet r:id="s1"/>'.repeat(20_000) },
      /^limit_exceeded: line 1: .*there are more than 20000 sheets/,
    ],
    [
      {
        sheets: [HEAD],
        related: Array.from({ length: 20_000 }, (_, at) => relationship(`x${at}`, 'image', 'a')).join(''),
      },
      /^limit_exceeded: line 1: .*there are more than 20000 relationships/,
    ],
    [
      { sheets: [row(`${SOURCE}<c r="B2" t="str"><v>b</v></c><c r="B2"/>`)] },
      /^structure_invalid: line 2: the sheet "Sheet 1": row 2: the cell B2 is there twice/,
    ],
    [
      { sheets: [row(SOURCE, 1_048_576) + '<row/>'] },
      /^limit_exceeded: .*row 1048576: the sheet has more than 1048576 rows/,
    ],
    [{ sheets: [row('<c r="XFE2"/>')] }, /^structure_invalid: line 2: .*"XFE2"/],
    [{ sheets: [row('<c><v>&x;</v></c>')] }, /^syntax_invalid: line 1: the sheet "Sheet 1": /],
    [
      { sheets: [row(`<c t="str"><v>${'x'.repeat(2 ** 20 + 1)}</v></c>`)] },
      /^limit_exceeded: line 2: the sheet "Sheet 1": row 2: a cell has more than 1048576/,
    ],
    [
      { sheets: [HEAD], others: { 'xl/sharedStrings.xml': '<!DOCTYPE a [<!ENTITY b "c">]><sst/>' } },
      /^structure_invalid: line 1: the part "xl\/sharedStrings.xml": the document defines/,
    ],
    [
      { sheets: [HEAD], others: { '_rels/.rels': '<Relationships/>' } },
      /^structure_invalid: line 1: the file is not a workbook/,
    ],
    [
      {
        sheets: [HEAD],
        related: relationship('q', 'styles', '../../../etc/passwd').replace('Id="q"', 'Id="f"'),
      },
      /^structure_invalid: line 1: .*the file has no part "etc\/passwd"/,
    ],
  ])('is refused with line and reason: %#', async (parts, expected) => {
    expect(await refusalOf(await packedWorkbook(workbookParts(parts)))).toMatch(expected);
  });

  it('is refused when it is another kind of file', async () => {
    expect(await refusalOf(Buffer.from('id,source,target\n'))).toMatch(
      /^syntax_invalid: line 1: the file: there is no end of a zip.*; the file is damaged or cut off, so copy it/,
    );
    expect(await refusalOf(Buffer.from('d0cf11e0a1b11ae1', 'hex'))).toMatch(
      /^structure_invalid: line 1: the file is in the old \.xls format or is password-protected/,
    );
    const twins = { sheets: [HEAD], others: { 'XL/Styles.xml': '' } };
    expect(await refusalOf(await packedWorkbook(workbookParts(twins)))).toMatch(
      /^structure_invalid: line 1: the file has two parts of one name/,
    );
    expect(await refusalOf(await writeZip([]))).toMatch(
      /^structure_invalid: line 1: .*no part "_rels\/\.rels"/,
    );
  });

  it('is refused when a part unpacks to more than it says, or than any workbook needs', async () => {
    const bytes = await packedWorkbook(workbookParts({ sheets: [HEAD + ' '.repeat(5_000_000)] }));
    expect(bytes.length).toBeLessThan(20_000);
    expect(await refusalOf(withSize(bytes, 'xl/worksheets/sheet1.xml', 1000))).toMatch(
      /^syntax_invalid: line 1: the sheet "Sheet 1": xl\/worksheets\/sheet1.xml does not have 1000 bytes/,
    );
    expect(await refusalOf(withSize(bytes, 'xl/worksheets/sheet1.xml', 0x3000_0000))).toMatch(
      /^limit_exceeded: line 1: the sheet "Sheet 1": the parts of the file have more than 536870912 bytes/,
    );
  });

  it('is refused when it is larger than its bound, before its end', () => {
    const reader = createUnitReader('xlsx');
    const piece = Buffer.alloc(2 ** 20);
    expect(() => {
      for (let at = 0; at < 70; at += 1) reader.write(piece);
    }).toThrow('line 1: the workbook has more than 67108864 bytes');
  });
});

/** A zip archive that states another size of an entry, at both places. */
function withSize(zip: Buffer, name: string, size: number): Buffer {
  const changed = Buffer.from(zip);
  const record = changed.lastIndexOf(name) - 46;
  changed.writeUInt32LE(size, record + 24);
  changed.writeUInt32LE(size, changed.readUInt32LE(record + 42) + 22);
  return changed;
}

const COUNT = campaignSize(500, 40_000);
const HOSTILE = [
  '&a;',
  '<c t="s">',
  '<f>',
  '</row>',
  '<row r="0">',
  'r="ZZZZ1"',
  '<![CDATA[',
  '\u0000',
  '1e999',
  '_xD800_',
];

describe(`${COUNT} workbooks with mutated parts`, () => {
  it('are read or refused with line and reason, and never end a program', async () => {
    const parts = workbookParts({
      sheets: [row('<c r="A2" t="s"><v>0</v></c><c r="B2" s="1"><v>45720</v></c>')],
      texts: '<si><r><t>a</t></r></si>',
      styles:
        '<numFmts><numFmt numFmtId="200" formatCode="yyyy-mm-dd"/></numFmts><cellXfs><xf/><xf numFmtId="200"/></cellXfs>',
    });
    const random = createRandom(35);
    const names = Object.keys(parts);
    let refused = 0;
    for (const [at, name] of Array.from(
      { length: COUNT },
      (_, each) => [each, random.pick(names)] as const,
    )) {
      const original = Buffer.from(parts[name] ?? '');
      const [copy = original] = mutations(original, { seed: at, count: 1 });
      const place = random.below(copy.length + 1);
      const bytes =
        random.below(2) === 0
          ? copy
          : Buffer.concat([
              original.subarray(0, place),
              Buffer.from(random.pick(HOSTILE)),
              original.subarray(place),
            ]);
      const files = names.map((each) => ({
        name: each,
        bytes: each === name ? bytes : Buffer.from(parts[each] ?? ''),
      }));
      try {
        for (const result of await readFile('xlsx', await writeZip(files), 100_000)) {
          expect(result.kind === 'unit' ? result.unit.source_text : result.message).toBeTypeOf('string');
        }
      } catch (error) {
        refused += 1;
        expect(error).toBeInstanceOf(ExchangeFileError);
        expect((error as ExchangeFileError).message).toMatch(/^line \d+: ./);
      }
    }
    expect(refused).toBeGreaterThan(COUNT / 10);
    expect(refused).toBeLessThan(COUNT);
  });
});
