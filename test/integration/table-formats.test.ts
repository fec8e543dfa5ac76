import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DialogRow } from '../../demo/game/dialog-row.ts';
import { flatBuffersTable, flatBuffersTableSchema } from '../../demo/game/flatbuffers-table.ts';
import { writeSqliteTable } from '../../demo/game/sqlite-table.ts';
import { readBinarySchema } from '../../src/formats/flatbuffers/binary-schema.ts';
import { visitFlatBuffer } from '../../src/formats/flatbuffers/visit-flatbuffer.ts';
import { visitSqlite } from '../../src/formats/sqlite/visit-sqlite.ts';
import { READ_LIMITS } from '../../src/formats/value-visitor.ts';
import { SAMPLE_SCHEMA, sampleBuffer } from '../support/flatbuffer-sample.ts';
import { recordValues, valuesOf } from '../support/record-values.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';

const ROWS: readonly DialogRow[] = Array.from({ length: 300 }, (_, line) => ({
  id: 2n ** 60n + BigInt(line),
  speaker: line % 2 === 0 ? 'アロナ' : 'プラナ',
  text: `${line}行目：<color=#ff8800>"注意"</color>\n{0}個、𠮟る`,
}));

/** The schema of the samples as `flatc` reads it, without the types that only a binary schema can name. */
const SCHEMA_TEXT = `
struct Point { x:int; y:short; }
struct Box { corner:Point; marks:[int:2]; }
table Child { name:string; child:Child; second:Child; }
union Any { Child, Line:string, Point }
table Root {
  flag:bool; i8:byte; u8:ubyte; i16:short; u16:ushort; i32:int; u32:uint; i64:long; u64:ulong; f32:float; f64:double;
  text:string (required); box:Box; child:Child; children:[Child]; texts:[string]; points:[Point]; numbers:[long];
  ratios:[float]; blob:[ubyte]; any:Any; many:[Any]; level:int = 7; maybe:int = null; old:string (deprecated);
  absent:string;
}
root_type Root;
file_identifier "SAMP";
`;

const SAMPLE_JSON = {
  i64: -3,
  text: '先生、おはよう。',
  box: { corner: { x: 1, y: 2 }, marks: [3, 4] },
  child: { name: 'アロナ', child: { name: 'プラナ' } },
  children: [{ name: 'ホシノ' }, {}],
  texts: ['い', '', 'う'],
  points: [{ x: 5, y: 6 }],
  numbers: [7, 8],
  any_type: 'Line',
  any: '結末',
  many_type: ['Child', 'Line', 'Point'],
  many: [{ name: 'シロコ' }, '文', { x: 9, y: 10 }],
  maybe: 0,
};

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}${stdout}`);
  return stdout;
}

function readBuffer(
  bytes: Uint8Array,
  schema: Uint8Array,
): { values: unknown; references: Map<string, number> } {
  const { visitor, events } = recordValues();
  const references = new Map<string, number>();
  let reference = 0;
  visitFlatBuffer(
    bytes,
    readBinarySchema(schema),
    {
      ...visitor,
      text: (value, start, end) => {
        references.set(value, reference);
        visitor.text(value, start, end);
      },
    },
    {
      limits: READ_LIMITS,
      reportPartError: (error) => {
        throw error;
      },
      onReference: ({ position }) => {
        reference = position;
      },
    },
  );
  return { values: valuesOf(events), references };
}

/** The values that `flatc` finds in a buffer. */
function flatcJson(directory: string, bytes: Uint8Array, schema: Uint8Array): unknown {
  writeFileSync(join(directory, 'schema.bfbs'), schema);
  writeFileSync(join(directory, 'table.bin'), bytes);
  run(
    'flatc',
    '--json',
    '--strict-json',
    '--raw-binary',
    '-o',
    directory,
    join(directory, 'schema.bfbs'),
    '--',
    join(directory, 'table.bin'),
  );
  return JSON.parse(
    readFileSync(join(directory, 'table.json'), 'utf8').replaceAll(/"id": (\d+)/g, '"id": "$1"'),
  );
}

describe.runIf(hasTool('flatc', 'flatbuffers-compiler'))('flatc and the FlatBuffers reader', () => {
  it('find the same strings in the table of the demo', async () => {
    const bytes = flatBuffersTable(ROWS);
    const found = flatcJson(await temporaryDirectory(), bytes, flatBuffersTableSchema());
    const rows = ROWS.map(({ id, speaker, text }) => ({ id: String(id), speaker, text }));
    expect(found).toEqual({ rows });
    const { values } = readBuffer(bytes, flatBuffersTableSchema());
    expect(values).toEqual({ rows: ROWS });
  });

  it('agree on a schema and a buffer that flatc writes', async () => {
    const directory = await temporaryDirectory();
    const path = (name: string): string => join(directory, name);
    writeFileSync(path('root.fbs'), SCHEMA_TEXT);
    writeFileSync(path('root.json'), JSON.stringify(SAMPLE_JSON));
    run('flatc', '--binary', '--schema', '-o', directory, path('root.fbs'));
    run('flatc', '--binary', '-o', directory, path('root.fbs'), path('root.json'));
    const schema = readFileSync(path('root.bfbs'));
    const { values } = readBuffer(readFileSync(path('root.bin')), schema);
    const { any_type, many_type, ...expected } = SAMPLE_JSON;
    expect([any_type, many_type]).toHaveLength(2);
    const absent = { i8: 0, u8: 0, i16: 0, u16: 0, i32: 0, u32: 0, u64: 0, level: 7 };
    expect(values).toEqual({ ...absent, ...expected });
    // The generated schema and buffer of the unit tests are the same to the reader and to flatc.
    expect(readBuffer(sampleBuffer(), schema)).toEqual(readBuffer(sampleBuffer(), SAMPLE_SCHEMA));
  });

  it('agree on a buffer to which a string was appended', async () => {
    const bytes = flatBuffersTable(ROWS.slice(0, 2));
    const { references } = readBuffer(bytes, flatBuffersTableSchema());
    const position = references.get(ROWS[1]?.text ?? '') ?? 0;
    const text = Buffer.from('書き換えた行');
    const added = Buffer.alloc(4 + text.length + 1);
    added.writeUInt32LE(text.length);
    text.copy(added, 4);
    const patched = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3), added]);
    patched.writeUInt32LE(patched.length - added.length - position, position);
    const found = flatcJson(await temporaryDirectory(), patched, flatBuffersTableSchema());
    expect(found).toMatchObject({ rows: [{ text: ROWS[0]?.text }, { text: '書き換えた行' }] });
  });
});

describe.runIf(hasTool('sqlite3'))('sqlite3 and the SQLite reader', () => {
  it('find the same rows in the table of the demo', async () => {
    const path = join(await temporaryDirectory(), 'demo.db');
    await writeSqliteTable(path, ROWS);
    expect(run('sqlite3', path, 'PRAGMA integrity_check').trim()).toBe('ok');
    const found = run('sqlite3', '-json', path, 'SELECT CAST(Id AS TEXT) AS Id, Speaker, TextJp FROM Dialog');
    const { visitor, events } = recordValues();
    visitSqlite(path, visitor, {
      limits: READ_LIMITS,
      reportPartError: (error) => {
        throw error;
      },
    });
    const { Dialog } = valuesOf(events) as { Dialog: { Id: bigint }[] };
    expect(JSON.parse(found)).toEqual(Dialog.map((row) => ({ ...row, Id: String(row.Id) })));
    expect(Dialog).toHaveLength(ROWS.length);
  });

  it('agree on a database that sqlite3 writes', async () => {
    const path = join(await temporaryDirectory(), 'other.db');
    run(
      'sqlite3',
      path,
      `CREATE TABLE t (code TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
      INSERT INTO t VALUES ('b', 'あ'), ('a', 'い' || char(10) || '"う"')`,
    );
    const { visitor, events } = recordValues();
    visitSqlite(path, visitor, { limits: READ_LIMITS, reportPartError: () => {} });
    expect(valuesOf(events)).toEqual({
      t: JSON.parse(run('sqlite3', '-json', path, 'SELECT * FROM t ORDER BY code')),
    });
  });
});
