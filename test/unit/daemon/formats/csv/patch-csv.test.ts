import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { DOTTED_SYNTAX } from '../../../../../src/daemon/formats/collect/path-syntax.ts';
import { patchCsv, type PatchCsvOptions } from '../../../../../src/daemon/formats/csv/patch-csv.ts';
import { readCsv } from '../../../../../src/daemon/formats/csv/read-csv.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import { PatchError } from '../../../../../src/daemon/formats/patch/patch-error.ts';
import { decodeText } from '../../../../../src/daemon/formats/text/decode-text.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { mutations } from '../../../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../../../support/random-edits.ts';

const CSV: PatchCsvOptions = { delimiter: ',', header: true };
const TSV: PatchCsvOptions = { delimiter: '\t', header: true };
const CP932: PatchCsvOptions = { ...CSV, encoding: 'cp932' };

const textsOf = (bytes: Uint8Array, options: PatchCsvOptions): ReadonlyMap<string, string> =>
  textsByPath(DOTTED_SYNTAX, (visitor) => {
    const target = { visitor, limits: READ_LIMITS, reportPartError: () => undefined };
    readCsv(decodeText(bytes, options.encoding), options, target);
  });

const edit = (fieldPath: string, source: string, target: string) => ({ fieldPath, source, target });

describe('patchCsv', () => {
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
