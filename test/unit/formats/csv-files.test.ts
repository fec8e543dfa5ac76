import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DOTTED_SYNTAX } from '../../../src/formats/collect/path-syntax.ts';
import { columnNames, readCsv, type CsvOptions } from '../../../src/formats/csv/read-csv.ts';
import { patchCsv, type PatchCsvOptions } from '../../../src/formats/csv/patch-csv.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { PatchError } from '../../../src/formats/patch/patch-error.ts';
import { decodedString, decodeText } from '../../../src/formats/text/decode-text.ts';
import { READ_LIMITS, type ReadLimits } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../support/random-edits.ts';
import { createValueRecorder, formatErrorOf, type ValueRecorder } from '../../support/value-recorder.ts';

describe('the CSV reader', () => {
  const CSV: CsvOptions = { delimiter: ',', header: true };

  function read(
    text: string,
    options: Partial<CsvOptions> = {},
    limits: Partial<ReadLimits> = {},
  ): ValueRecorder {
    const recorder = createValueRecorder(limits);
    readCsv(decodedString(text), { ...CSV, ...options }, recorder);
    return recorder;
  }

  const eventsOf = (text: string, options: Partial<CsvOptions> = {}): string =>
    read(text, options).events.join(' ');
  const errorOf = (...parameters: Parameters<typeof read>): ReturnType<typeof formatErrorOf> =>
    formatErrorOf(() => read(...parameters));

  describe('readCsv', () => {
    it('reports a text for each column of each row', () => {
      expect(eventsOf('id,text\n1,あ\n2,\n')).toBe('row: [ { id: "1" text: "あ" } { id: "2" text: "" } ]');
    });

    it('names the columns by their position when there is no header', () => {
      expect(eventsOf('1,あ\n2,い', { header: false })).toBe(
        'row: [ { 0: "1" 1: "あ" } { 0: "2" 1: "い" } ]',
      );
    });

    it('reads tabs as delimiters, and commas as characters', () => {
      expect(eventsOf('a\tb\nx,y\t"q\tr"', { delimiter: '\t' })).toBe('row: [ { a: "x,y" b: "q\\tr" } ]');
    });

    it.each(['\n', '\r\n', '\r'])('reads quoted cells and lines that end with %j', (end) => {
      const text = `\uFEFFa,b${end}"x ""y""${end}z",""${end}plain "q",""""${end}`;
      expect(eventsOf(text)).toBe(
        `row: [ { a: ${JSON.stringify(`x "y"${end}z`)} b: "" } { a: "plain \\"q\\"" b: "\\"" } ]`,
      );
    });

    it('reports the positions of cells, quotes included', () => {
      const text = 'a,b\r\n"x ""y""",\r\nあ,"😀"';
      const cells = read(text).texts.map(({ start, end }) => text.slice(start, end));
      expect(cells).toEqual(['"x ""y"""', '', 'あ', '"😀"']);
    });

    it('reads nothing, a header alone, and skips lines without a character', () => {
      expect(eventsOf('')).toBe('row: [ ]');
      expect(eventsOf('\r\n\r\n')).toBe('row: [ ]');
      expect(eventsOf('a,b')).toBe('row: [ ]');
      expect(eventsOf('\n\na\n\n1\n\n\n2\n\n')).toBe('row: [ { a: "1" } { a: "2" } ]');
      expect(eventsOf('a,b\n,\n')).toBe('row: [ { a: "" b: "" } ]');
    });

    it('reports a row of another length and reads the next one', () => {
      const { events, errors } = read('a,b\nあ,2\n3\n4,5,6\n7,8');
      expect(events.join(' ')).toBe('row: [ { a: "あ" b: "2" } ? ? { a: "7" b: "8" } ]');
      expect(errors).toEqual([
        { code: 'csv_invalid', path: 'row[1]', offset: 10 },
        { code: 'csv_invalid', path: 'row[2]', offset: 12 },
      ]);
    });

    it('reports a cell that continues after its closing quote and reads the next row', () => {
      const { events, errors } = read('a,b\n"x"y,2\n"3" ,"4"\n5,6');
      expect(events.join(' ')).toBe('row: [ ? ? { a: "5" b: "6" } ]');
      expect(errors).toEqual([
        { code: 'csv_invalid', path: 'row[0]', offset: 7 },
        { code: 'csv_invalid', path: 'row[1]', offset: 14 },
      ]);
      expect(errorOf('"a"b,c\n1,2')).toEqual({ code: 'csv_invalid', offset: 3 });
    });

    it('reports the quote that is not closed, in bytes of the file, and keeps the rows before it', () => {
      const { events, errors } = read('a,b\n1,2\nあ,"い\n3,4');
      expect(errors).toEqual([{ code: 'csv_invalid', path: 'row[1]', offset: 12 }]);
      expect(events.join(' ')).toBe('row: [ { a: "1" b: "2" } ? ]');
      expect(read('\uFEFFa\n"""').errors).toEqual([{ code: 'csv_invalid', path: 'row[0]', offset: 5 }]);
      expect(errorOf('a,"b\n1,2')).toEqual({ code: 'csv_invalid', offset: 2 });
    });

    it('keeps the rows before the cut at every 64th byte where a table is cut', () => {
      const rows = Array.from({ length: 40 }, (_, id) => `${id},アロナ,"${id}行目、「先生」\n,""はい"""`);
      const bytes = Buffer.from(`id,speaker,text\n${rows.join('\n')}\n`);
      const all = read(bytes.toString()).texts;
      expect(all).toHaveLength(120);
      for (let length = 64; length < bytes.length; length += 64) {
        // The rows whose bytes are all there are read; the cut one is an error, or a row whose last cell is complete.
        const text = bytes.subarray(0, length).toString();
        const whole = text.split('"\n').length - 1;
        const { texts, errors } = read(text);
        expect(texts.slice(0, whole * 3), text).toEqual(all.slice(0, whole * 3));
        expect(texts.length / 3 - whole + errors.length, text).toBe(text.endsWith('"\n') ? 0 : 1);
      }
    });

    it('skips a cell that is too long', () => {
      const { events, errors } = read('a,b\nabcd,あい\n', {}, { stringBytes: 4 });
      expect(events.join(' ')).toBe('row: [ { a: "abcd" b: ? } ]');
      expect(errors).toEqual([{ code: 'field_too_large', path: 'row[0].b', offset: null }]);
    });

    it('accepts 1,000,000 rows', () => {
      expect(read(`a\n${'1\n'.repeat(1_000_000)}`).events.length).toBe(4_000_003);
    });

    it('accepts as many rows and cells as the limit', () => {
      const limits = { elements: 1_000 };
      expect(errorOf(`a\n${'1\n'.repeat(1_000)}`, {}, limits)).toBe(null);
      expect(errorOf(`a\n${'1\n'.repeat(1_001)}`, {}, limits)).toEqual({
        code: 'container_limit_exceeded',
        offset: 2_002,
      });
      expect(errorOf(','.repeat(999), {}, limits)).toBe(null);
      expect(errorOf(','.repeat(1_000), {}, limits)).toEqual({
        code: 'container_limit_exceeded',
        offset: 1_000,
      });
    });

    it('finds the cells that csv-parse finds', () => {
      const cell = fc.oneof(
        fc.string({ unit: fc.constantFrom('a', '"', ',', ' ', '\n', '\r', '\t', 'あ', '😀') }),
        fc.string(),
      );
      const table = fc
        .integer({ min: 1, max: 4 })
        .chain((width) =>
          fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 }),
        );
      const property = fc.property(
        table,
        fc.constantFrom(',' as const, '\t' as const),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.boolean(),
        (rows, delimiter, end, isQuoted) => {
          const quote = (value: string): string =>
            isQuoted || /["\n\r\t,]/.test(value) || value.startsWith('\uFEFF')
              ? `"${value.replaceAll('"', '""')}"`
              : value;
          const text = rows.map((row) => `${row.map(quote).join(delimiter)}${end}`).join('');
          const expected: string[][] = parse(text, {
            delimiter,
            record_delimiter: end,
            skip_empty_lines: true,
          });
          const { texts, errors } = read(text, { delimiter, header: false });
          expect(texts.map(({ value }) => value)).toEqual(expected.flat());
          expect(texts.map(({ start, end: to }) => text.slice(start, to))).toEqual(
            rows
              .filter((row) => row.length > 1 || isQuoted || row[0] !== '')
              .flatMap((row) => row.map(quote)),
          );
          expect(errors).toEqual([]);
        },
      );
      fc.assert(property, { numRuns: campaignSize(300, 10_000), seed: 14 });
    });

    it('reads or rejects every damaged table', () => {
      const bytes = Buffer.from(
        'id,text,note\r\n1,"こんにちは, ""世界""",x\r\n2,さようなら,"a\r\nb"\r\n3,,\r\n',
      );
      const codes = new Set<string>();
      for (const damaged of mutations(bytes, { seed: 14, count: campaignSize(2_000, 40_000) })) {
        const recorder = createValueRecorder();
        const error = formatErrorOf(() => {
          readCsv(decodeText(damaged), CSV, recorder);
        });
        codes.add(error?.code ?? 'read');
        for (const { code } of recorder.errors) codes.add(`part ${code}`);
        for (const { start, end } of recorder.texts) expect(start <= end && end <= damaged.length).toBe(true);
      }
      expect([...codes].toSorted()).toEqual(['csv_invalid', 'encoding_invalid', 'part csv_invalid', 'read']);
    });

    it('reads or rejects a table that is cut anywhere', () => {
      const text = 'id,text\r\n1,"a ""b"""\r\n2,c\r\n';
      for (let size = 0; size <= text.length; size += 1) {
        expect(['csv_invalid', undefined]).toContain(errorOf(text.slice(0, size))?.code);
      }
    });
  });

  describe('columnNames', () => {
    it.each([
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
      [
        ['a', 'a', 'a'],
        ['a', 'a_2', 'a_3'],
      ],
      [
        ['a', 'a', 'a_2', 'a'],
        ['a', 'a_3', 'a_2', 'a_4'],
      ],
      [
        ['', 'x', ''],
        ['0', 'x', '2'],
      ],
      [
        ['', '0', ''],
        ['0_1', '0', '2'],
      ],
      [
        ['x', 'x_2', 'x_2', 'x'],
        ['x', 'x_2', 'x_2_2', 'x_3'],
      ],
    ])('makes %j unique', (header, names) => {
      expect(columnNames(header)).toEqual(names);
    });

    it('names 100,000 columns with the same name', () => {
      const names = columnNames(Array.from({ length: 100_000 }, () => 'x'));
      expect(new Set(names).size).toBe(100_000);
      expect(names.at(-1)).toBe('x_100000');
    });
  });
});

const TSV: PatchCsvOptions = { delimiter: '\t', header: true };

const textsOf = (bytes: Uint8Array, options: PatchCsvOptions): ReadonlyMap<string, string> =>
  textsByPath(DOTTED_SYNTAX, (visitor) => {
    const target = { visitor, limits: READ_LIMITS, reportPartError: () => undefined };
    readCsv(decodeText(bytes, options.encoding), options, target);
  });

const edit = (fieldPath: string, source: string, target: string) => ({ fieldPath, source, target });

describe('patchCsv', () => {
  const CSV: PatchCsvOptions = { delimiter: ',', header: true };

  const CP932: PatchCsvOptions = { ...CSV, encoding: 'cp932' };

  it('changes the edited cells and no other byte', () => {
    const file = '\uFEFFid,"text ",,text\r\n1,い,"x",\r\n\r\n2,"あ ""い""",5" disk,"\n"\rlast,a,b,c';
    const patched = patchCsv(
      Buffer.from(file),
      [
        edit('row[0].text ', 'い', 'plain 🎉'),
        edit('row[0].2', 'x', 'still quoted'),
        edit('row[0].text', '', 'a,b'),
        edit('row[1].text ', 'あ "い"', ''),
        edit('row[1].2', '5" disk', '6" disk'),
        edit('row[1].text', '\n', 'one\r\ntwo'),
        edit('row[2].text', 'c', 'say "hi"'),
      ],
      CSV,
    );
    expect(patched.toString()).toBe(
      '\uFEFFid,"text ",,text\r\n1,plain 🎉,"still quoted","a,b"\r\n\r\n2,"",6" disk,"one\r\ntwo"\rlast,a,b,"say ""hi"""',
    );
  });

  it.for([
    ['a\nx\ny\n', 'x', '', 'a\n""\ny\n'],
    ['a\nx', 'x', '', 'a\n""'],
    ['a,b\nx,\n', 'x', '', 'a,b\n,\n'],
    ['a\nx\n', 'x', '"', 'a\n""""\n'],
    ['a\nx\n', 'x', '\uFEFF', 'a\n"\uFEFF"\n'],
    ['a\nx\n', 'x', '\t; ', 'a\n\t; \n'],
  ])('writes into %j instead of %j the text %j', ([file = '', source = '', target = '', expected]) => {
    expect(patchCsv(file, [edit('row[0].a', source, target)], CSV)).toBe(expected);
  });

  it('keeps a byte order mark from appearing in a table without a header', () => {
    const options = { ...CSV, header: false };
    const patched = patchCsv(Buffer.from('x,y\n'), [edit('row[0].0', 'x', '\uFEFFz')], options);
    expect(textsOf(patched, options).get('row[0].0')).toBe('\uFEFFz');
  });

  it('keeps the delimiter that is found by the first row', () => {
    const options = { delimiter: 'auto', header: false } as const;
    const edits = [edit('row[0].1', 'y', 'a;b;c'), edit('row[1].1', 'z', 'd;e;f')];
    const patched = patchCsv('x,y\nx,z\n', edits, options);
    expect(patched).toBe('x,"a;b;c"\nx,d;e;f\n');
    expect(textsOf(Buffer.from(patched), options).get('row[0].1')).toBe('a;b;c');
  });

  it('quotes a tab in a table of tabs, and leaves commas plain', () => {
    expect(patchCsv('a\tb\nx\ty\n', [edit('row[0].a', 'x', '1,2'), edit('row[0].b', 'y', '1\t2')], TSV)).toBe(
      'a\tb\n1,2\t"1\t2"\n',
    );
  });

  it('keeps the codes of CP932 that have another form, and encodes as Windows does', () => {
    const file = Buffer.from([...Buffer.from('a,b\n'), 0xee, 0xf9, 0x2c, 0x78, 0x0d]);
    const patched = patchCsv(file, [edit('row[0].b', 'x', '～髙Ⅰ¬ｱ\\'.replace('¬', '￢'))], CP932);
    const expected = [0x81, 0x60, 0xfb, 0xfc, 0x87, 0x54, 0x81, 0xca, 0xb1, 0x5c];
    expect([...patched]).toEqual([...file.subarray(0, 7), ...expected, 0x0d]);
    expect(patchErrorOf(() => patchCsv(file, [edit('row[0].b', 'x', 'naïve')], CP932))).toEqual({
      code: 'unencodable_character',
      fieldPath: 'row[0].b',
    });
  });

  it.for([
    ['commas', CSV],
    ['tabs', TSV],
  ] as const)(
    'reads back exactly with this reader and with csv-parse, whatever is edited: %s',
    ([, options]) => {
      const { delimiter } = options;
      const files = ['\n', '\r\n'].map(
        (end, at) =>
          [
            `id${delimiter}"text"${delimiter}note`,
            ...Array.from({ length: 20 }, (_, id) =>
              [
                id,
                id % 3 === 0 ? `"行 ${id}, ""q""${end}x"` : `行${id}`,
                id % 2 === 0 ? '' : '"'.repeat(2),
              ].join(delimiter),
            ),
          ].join(end) + (at === 0 ? end : ''),
      );
      for (let seed = 1; seed <= 200; seed += 1) {
        const file = Buffer.from(files[seed % files.length] ?? '');
        const texts = textsOf(file, options);
        const edits = randomEdits(texts, seed);
        const patched = patchCsv(file, edits, options);
        const expected = editedTexts(texts, edits);
        expect(textsOf(patched, options)).toEqual(expected);
        const rows: Record<string, string>[] = parse(patched, {
          columns: true,
          delimiter,
          relax_quotes: true,
        });
        const found = rows.flatMap((row, index) =>
          Object.entries(row).map(([name, value]): [string, string] => [`row[${index}].${name}`, value]),
        );
        expect(new Map(found)).toEqual(expected);
        expect(patchCsv(file, edits, options).equals(patched)).toBe(true);
      }
    },
  );

  it('refuses what it cannot write', () => {
    expect(patchErrorOf(() => patchCsv('a\nx\n', [edit('row[0].a', 'x', '\0')], CSV))?.code).toBe(
      'character_not_allowed',
    );
    expect(patchErrorOf(() => patchCsv('a\nx,y\n', [edit('row[0].a', 'x', 'z')], CSV))?.code).toBe(
      'place_not_found',
    );
  });

  it('refuses damaged files, or changes only the edited cell', () => {
    const file = Buffer.from('id,text\n1,"い ""x"""\n2,う\n3,"え"\n');
    let patchedFiles = 0;
    for (const damaged of mutations(file, { seed: 1, count: 500 })) {
      try {
        const before = textsOf(damaged, CSV);
        const edits = [edit('row[1].text', 'う', 'a "new", one\n')];
        expect(textsOf(patchCsv(damaged, edits, CSV), CSV)).toEqual(editedTexts(before, edits));
        patchedFiles += 1;
      } catch (error) {
        if (!(error instanceof FormatError || error instanceof PatchError)) throw error;
      }
    }
    expect(patchedFiles).toBeGreaterThan(20);
  });
});
