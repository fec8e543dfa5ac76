import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DialogRow } from '../../demo/game/dialog-row.ts';
import { flatBuffersTable, flatBuffersTableSchema } from '../../demo/game/flatbuffers-table.ts';
import { writeSqliteTable } from '../../demo/game/sqlite-table.ts';
import { bytesSource } from '../../src/formats/byte-source.ts';
import { patchCsv } from '../../src/formats/csv/patch-csv.ts';
import { readBinarySchema } from '../../src/formats/flatbuffers/binary-schema.ts';
import { patchFlatBuffer } from '../../src/formats/flatbuffers/patch-flatbuffer.ts';
import { patchJson } from '../../src/formats/json/patch-json.ts';
import { joinPieces } from '../../src/formats/patch/output-pieces.ts';
import { patchSqlite } from '../../src/formats/sqlite/patch-sqlite.ts';
import { patchLines } from '../../src/formats/text/patch-text.ts';
import { patchXml } from '../../src/formats/xml/patch-xml.ts';
import { patchZip } from '../../src/formats/zip/patch-zip.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';

const ROWS: readonly DialogRow[] = Array.from({ length: 50 }, (_, line) => ({
  id: BigInt(line + 1),
  speaker: 'アロナ',
  text: `${line}行目：<color=#ff8800>"注意"</color>\n{0}個`,
}));
const TARGET = 'Line "3", 😀 \u202Eمرحبا\u202C\r\nand\ta\\slash';

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}${stdout}`);
  return stdout;
}

/** Runs a script of Python with the paths as its arguments, and parses the JSON that it prints. */
function python(script: string, ...paths: string[]): unknown {
  return JSON.parse(run('python3', '-c', `import json, sys\n${script}`, ...paths));
}

const edit = (fieldPath: string, source: string, target: string) => ({ fieldPath, source, target });

describe.runIf(hasTool('python3'))('Python and the writers of text files', () => {
  it('find the same strings in a patched JSON file', async () => {
    const path = join(await temporaryDirectory(), 'file.json');
    const script = `print(json.dumps(json.load(open(sys.argv[1], encoding='utf-8-sig')), ensure_ascii=True))`;
    for (const style of ['plain', 'ascii'] as const) {
      const rows = ROWS.map(({ id, text }) => ({ id: Number(id), text }));
      const plain = JSON.stringify({ rows }, null, 2);
      const ascii = plain.replaceAll(
        /[^\0-\u007F]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
      const patched = patchJson(Buffer.from(style === 'plain' ? `\uFEFF${plain}` : ascii), [
        edit('/rows/3/text', rows[3]?.text ?? '', TARGET),
      ]);
      writeFileSync(path, patched);
      expect(python(script, path)).toEqual({
        rows: rows.map((row, index) => (index === 3 ? { ...row, text: TARGET } : row)),
      });
      if (style === 'ascii') expect(patched.every((byte) => byte < 0x80)).toBe(true);
    }
  });

  it('find the same cells in a patched CSV file, in UTF-8 and in CP932', async () => {
    const path = join(await temporaryDirectory(), 'file.csv');
    const script = `import csv
print(json.dumps(list(csv.reader(open(sys.argv[1], encoding=sys.argv[2], newline='')))))`;
    const table = (text: string): string[][] => [
      ['Id', 'Text'],
      ['1', 'あ"い"'],
      ['2', text],
      ['3', '～①髙∵ｱ'],
    ];
    const file = 'Id,Text\r\n1,"あ""い"""\r\n2,う\r\n3,～①髙∵ｱ\r\n';
    const text = 'Line "3",\r\n高橋①Ⅰ∵￢～ ｱ';
    writeFileSync(
      path,
      patchCsv(Buffer.from(file), [edit('row[1].Text', 'う', TARGET)], { delimiter: ',', header: true }),
    );
    expect(python(script, path, 'utf-8')).toEqual(table(TARGET));
    const encode = `open(sys.argv[1], 'wb').write(json.loads(sys.argv[2]).encode('cp932')); print('0')`;
    python(encode, path, JSON.stringify(file));
    const options = { delimiter: ',', header: true, encoding: 'cp932' } as const;
    const patched = patchCsv(readFileSync(path), [edit('row[1].Text', 'う', text)], options);
    writeFileSync(path, patched);
    expect(python(script, path, 'cp932')).toEqual(table(text));
    // Python writes the same bytes for the whole file; only where NEC copied IBM's characters it differs from Windows.
    const quoted = `"${text.replaceAll('"', '""')}"`;
    python(encode, path, JSON.stringify(file.replace('う', () => quoted)));
    expect(readFileSync(path).equals(patched)).toBe(true);
  });
});

describe.runIf(hasTool('python3'))('Python and the writers of encodings and XML', () => {
  it.each([
    ['euc-jp', 'euc_jp', 'あ、漢字'],
    ['gbk', 'gbk', '你好，世界'],
    ['gb18030', 'gb18030', '你好😀ñ'],
    ['big5', 'big5', '你好，世界'],
    ['euc-kr', 'euc_kr', '안녕하세요'],
    ['windows-1251', 'cp1251', 'Привет «мир» №'],
    ['windows-1252', 'cp1252', 'Café — “quoted” €'],
  ] as const)('encode the same bytes in %s', async (encoding, python3, text) => {
    const path = join(await temporaryDirectory(), 'file.txt');
    const encode = `open(sys.argv[1], 'wb').write(sys.argv[3].encode(sys.argv[2])); print('0')`;
    python(encode, path, python3, `${text}\nx\n`);
    const patched = patchLines(readFileSync(path), [{ fieldPath: 'line[1]', source: 'x', target: text }], {
      encoding,
    });
    python(encode, path, python3, `${text}\n${text}\n`);
    expect(patched.equals(readFileSync(path))).toBe(true);
  });

  it('find the same texts in a patched document of XML', async () => {
    const path = join(await temporaryDirectory(), 'file.xml');
    const file =
      '<?xml version="1.0"?>\n<r><s name="a">一 &amp; 二</s><s name="b"><![CDATA[三]]></s><s name="c">x<b>四</b></s></r>';
    const target = 'Line "3" <x> & \'y\' ]]&gt; 😀';
    writeFileSync(
      path,
      patchXml(Buffer.from(file), [
        edit('/r[1]/s[1]/@name', 'a', target),
        edit('/r[1]/s[1]/text()', '一 & 二', target),
        edit('/r[1]/s[2]/text()', '三', target),
        edit('/r[1]/s[3]/text()', 'x<b>四</b>', 'y<b>four</b>!'),
      ]),
    );
    const script = `import xml.etree.ElementTree as E
print(json.dumps([[e.get('name'), ''.join(e.itertext())] for e in E.parse(sys.argv[1]).getroot()]))`;
    expect(python(script, path)).toEqual([
      [target, target],
      ['b', target],
      ['c', 'yfour!'],
    ]);
  });
});

describe.runIf(hasTool('unzip') && hasTool('zip') && hasTool('python3'))(
  'Info-ZIP, Python and the writer of archives',
  () => {
    it('agree on patched archives, with passwords and with data descriptors', async () => {
      const directory = await temporaryDirectory();
      const path = (name: string): string => join(directory, name);
      writeFileSync(path('text.json'), JSON.stringify(ROWS.map(({ text }) => text)));
      writeFileSync(path('table.csv'), 'a,b\n1,あ\n');
      writeFileSync(path('raw.bin'), Buffer.alloc(70_000, 'raw'));
      const files = [path('text.json'), path('table.csv'), path('raw.bin')];
      run('zip', '-q', '-j', '-P', 'secret', path('encrypted.zip'), ...files);
      run('zip', '-q', '-j', '-n', '.bin', path('plain.zip'), ...files);
      python(
        `import zipfile
class Pipe:
    def __init__(self, f): self.f = f
    def write(self, b): return self.f.write(b)
    def flush(self): self.f.flush()
with open(sys.argv[1], 'wb') as f:
    with zipfile.ZipFile(Pipe(f), 'w', zipfile.ZIP_DEFLATED) as z:
        for p in sys.argv[2:]: z.writestr(zipfile.ZipInfo(p.rsplit('/', 1)[1]), open(p, 'rb').read(), zipfile.ZIP_DEFLATED)
        z.comment = b'a comment'
print('0')`,
        path('described.zip'),
        ...files,
      );
      const content = `a,b\n1,${'new '.repeat(1000)}\n`;
      for (const name of ['encrypted.zip', 'plain.zip', 'described.zip']) {
        const official = readFileSync(path(name));
        const patches = new Map([['table.csv', () => Buffer.from(content)]]);
        const passwordOf = (): Uint8Array => Buffer.from('secret');
        writeFileSync(path(name), joinPieces(patchZip(bytesSource(official), patches, { passwordOf })));
        expect(run('unzip', '-t', '-P', 'secret', path(name))).toContain('No errors detected');
        const found = python(
          `import zipfile, hashlib
z = zipfile.ZipFile(sys.argv[1]); z.setpassword(b'secret')
assert z.testzip() is None
print(json.dumps([z.comment.decode(), [i.filename for i in z.infolist()], z.read('table.csv').decode(), hashlib.sha256(z.read('raw.bin')).hexdigest()]))`,
          path(name),
        );
        const digest = run('sha256sum', path('raw.bin')).slice(0, 64);
        const comment = name === 'described.zip' ? 'a comment' : '';
        expect(found).toEqual([comment, ['text.json', 'table.csv', 'raw.bin'], content, digest]);
        expect(run('zipinfo', '-l', path(name))).toMatch(/3 files, /);
      }
    });
  },
);

describe.runIf(hasTool('flatc', 'flatbuffers-compiler'))('flatc and the writer of FlatBuffers', () => {
  it('find the same strings in a patched table', async () => {
    const directory = await temporaryDirectory();
    const schema = flatBuffersTableSchema();
    const edits = [
      edit('rows[3].text', ROWS[3]?.text ?? '', TARGET),
      edit('rows[4].text', ROWS[4]?.text ?? '', ''),
    ];
    const patched = patchFlatBuffer(flatBuffersTable(ROWS), readBinarySchema(schema), edits);
    writeFileSync(join(directory, 'schema.bfbs'), schema);
    writeFileSync(join(directory, 'table.bin'), patched);
    const [bfbs, table] = [join(directory, 'schema.bfbs'), join(directory, 'table.bin')];
    run('flatc', '--json', '--strict-json', '--raw-binary', '-o', directory, bfbs, '--', table);
    const found = JSON.parse(readFileSync(join(directory, 'table.json'), 'utf8')) as {
      rows: { text: string }[];
    };
    const expected = ROWS.map(({ text }, index) => (index === 3 ? TARGET : index === 4 ? '' : text));
    expect(found.rows.map(({ text }) => text)).toEqual(expected);
  });
});

describe.runIf(hasTool('sqlite3'))('sqlite3 and the writer of SQLite', () => {
  it('find the same rows in a patched database, and nothing wrong with it', async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'demo.db');
    await writeSqliteTable(path, ROWS);
    const copy = join(directory, 'copy.db');
    copyFileSync(path, copy);
    patchSqlite(copy, [edit('Dialog[4].TextJp', ROWS[3]?.text ?? '', TARGET)]);
    expect(run('sqlite3', copy, 'PRAGMA integrity_check').trim()).toBe('ok');
    const found = run('sqlite3', '-json', copy, 'SELECT Id, TextJp FROM Dialog ORDER BY Id');
    const expected = ROWS.map(({ id, text }) => ({ Id: Number(id), TextJp: id === 4n ? TARGET : text }));
    expect(JSON.parse(found)).toEqual(expected);
  });
});
