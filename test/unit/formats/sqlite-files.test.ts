import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOTTED_SYNTAX } from '../../../src/formats/collect/path-syntax.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { PatchError } from '../../../src/formats/patch/patch-error.ts';
import type { ValueEdit } from '../../../src/formats/patch/find-places.ts';
import { compareSqlite } from '../../../src/formats/sqlite/compare-sqlite.ts';
import { patchSqlite } from '../../../src/formats/sqlite/patch-sqlite.ts';
import { visitSqlite, type SqliteOptions } from '../../../src/formats/sqlite/visit-sqlite.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../support/random-edits.ts';
import { recordValues, valuesOf, type ValueEvent } from '../../support/record-values.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Makes a database with the statements, and gives its path. */
async function databaseOf(sql: string): Promise<string> {
  const path = join(await temporaryDirectory(), 'table.db');
  const database = new DatabaseSync(path, { defensive: false });
  database.exec(sql);
  database.close();
  return path;
}

interface Visit {
  readonly events: readonly ValueEvent[];
  readonly values: unknown;
  readonly names: readonly unknown[];
  /** Code and path of each error that cost a part. */
  readonly parts: readonly unknown[];
  readonly skipped: readonly unknown[];
}

function visit(path: string, options: Partial<SqliteOptions> = {}): Visit {
  const { visitor, events } = recordValues();
  const parts: unknown[] = [];
  const skipped: unknown[] = [];
  visitSqlite(path, visitor, {
    limits: READ_LIMITS,
    reportPartError: (error, where) => parts.push([error.code, where]),
    onSkipped: (name, kind) => skipped.push([name, kind]),
    ...options,
  });
  const names = events.filter(([name]) => name === 'element').map(([, name]) => name);
  return { events, values: valuesOf(events), names, parts, skipped };
}

/** The code of the error, `partial` when parts are missing, else `read`. */
function outcome(path: string, options: Partial<SqliteOptions> = {}): string {
  try {
    return visit(path, options).parts.length > 0 ? 'partial' : 'read';
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return error.code;
  }
}

/** A database of several pages, kinds of tables and an index. */
function sampleDatabase(): Promise<string> {
  return databaseOf(`PRAGMA page_size = 512;
    CREATE TABLE lines (id INTEGER PRIMARY KEY, speaker TEXT, text TEXT, extra BLOB);
    CREATE INDEX by_text ON lines (text);
    CREATE TABLE names (scene TEXT, lang TEXT, name TEXT, PRIMARY KEY (scene, lang)) WITHOUT ROWID;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
      INSERT INTO lines SELECT i, 'アロナ', i || '行目です。先生、おはようございます。', zeroblob(i * 20) FROM n;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
      INSERT INTO names SELECT 'scene' || i, 'ja', '場面' || i FROM n`);
}

describe('the reader of SQLite files', () => {
  describe('the SQLite reader', () => {
    it('visits the rows of each table in the order of their keys, with exact integers', async () => {
      const path = await databaseOf(`
      CREATE TABLE lines (id INTEGER PRIMARY KEY, big INTEGER, ratio REAL, text TEXT, missing TEXT, bytes BLOB);
      CREATE TABLE covered (text TEXT);
      CREATE INDEX covering ON covered (text);
      INSERT INTO covered VALUES ('b'), ('a');
      CREATE TABLE empty (text TEXT);
      CREATE TABLE "od""d name]" ("a""b" TEXT, "select" TEXT);
      INSERT INTO lines VALUES (7, 9007199254740993, 1.5, 'い', NULL, x'00'), (-1, 3, 2, 'う', NULL, NULL);
      INSERT INTO "od""d name]" VALUES ('あ', '')`);
      const { values, names, events, parts } = visit(path);
      expect(values).toEqual({
        lines: [
          { id: -1, big: 3, text: 'う' },
          { id: 7, big: 2n ** 53n + 1n, text: 'い' },
        ],
        covered: [{ text: 'b' }, { text: 'a' }],
        empty: [],
        'od"d name]': [{ 'a"b': 'あ', select: '' }],
      });
      expect(names).toEqual(['-1', '7', '1', '2', '1']);
      expect(events).toContainEqual(['text', 'い', 0, 0]);
      expect(parts).toEqual([]);
    });

    it('names the rows of a table WITHOUT ROWID by their primary key', async () => {
      const path = await databaseOf(`
      CREATE TABLE one (code TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
      CREATE TABLE more (text TEXT, b, a, PRIMARY KEY (a, b)) WITHOUT ROWID;
      CREATE INDEX by_text ON more (text);
      INSERT INTO one VALUES ('it''s', 'あ'), ('b', 'い');
      INSERT INTO more VALUES ('う', 2, 'x'), ('え', 1.5, x'00ff'), ('お', '2', 'x')`);
      const { names, values } = visit(path);
      expect(names).toEqual(["'b'", "'it''s'", "'x',2", "'x','2'", "x'00ff',1.5"]);
      expect(values).toMatchObject({ more: [{ text: 'う' }, { text: 'お' }, { text: 'え' }] });
    });

    it('finds the row id behind columns that use its names', async () => {
      const path = await databaseOf(`
      CREATE TABLE a (rowid TEXT, text TEXT); INSERT INTO a (_rowid_, rowid, text) VALUES (5, 'x', 'あ');
      CREATE TABLE b (RowId TEXT, _rowid_ TEXT); INSERT INTO b (oid, rowid) VALUES (6, 'い');
      CREATE TABLE c (rowid TEXT, _rowid_ TEXT, oid TEXT); INSERT INTO c VALUES ('う', '', '')`);
      const { names, parts, values } = visit(path);
      expect(names).toEqual(['5', '6']);
      expect(values).toEqual({ a: [{ rowid: 'x', text: 'あ' }], b: [{ RowId: 'い' }] });
      expect(parts).toEqual([['sqlite_invalid', 'c']]);
    });

    it('skips views, virtual tables and generated columns, and runs none of them', async () => {
      const path = await databaseOf(`
      CREATE TABLE lines (text TEXT, copy TEXT AS (text || 'x') VIRTUAL, kept TEXT AS (upper(text)) STORED);
      INSERT INTO lines VALUES ('あ');
      CREATE VIEW endless AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n;
      CREATE TRIGGER changes AFTER INSERT ON lines BEGIN DELETE FROM lines; END;
      CREATE VIRTUAL TABLE search USING fts5 (body);
      INSERT INTO search VALUES ('hello');
      CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT)`);
      const { values, skipped, parts } = visit(path);
      expect(values).toEqual({ lines: [{ text: 'あ' }], counted: [] });
      expect(skipped).toEqual([
        ['endless', 'view'],
        ['search', 'virtual table'],
        ...['data', 'idx', 'content', 'docsize', 'config'].map((name) => [`search_${name}`, 'shadow table']),
      ]);
      expect(parts).toEqual([]);
    });

    it.each(['UTF-8', 'UTF-16le', 'UTF-16be'])('reads %s, also with zero characters', async (encoding) => {
      const path = await databaseOf(`PRAGMA encoding = '${encoding}'; CREATE TABLE t (text TEXT);
      INSERT INTO t VALUES ('𠮟る'), ('a' || char(0) || 'b')`);
      expect(visit(path).values).toEqual({ t: [{ text: '𠮟る' }, { text: 'a\0b' }] });
    });

    it('reports a text that is not valid in its encoding, and continues behind it', async () => {
      const path = await databaseOf(`CREATE TABLE t (text TEXT, more TEXT);
      INSERT INTO t VALUES (CAST(x'ff41' AS TEXT), 'あ'), ('い', 'う')`);
      const { values, parts } = visit(path);
      expect(values).toEqual({
        t: [
          { text: null, more: 'あ' },
          { text: 'い', more: 'う' },
        ],
      });
      expect(parts).toEqual([['encoding_invalid', 't[1].text']]);
    });

    it('reports values beyond the limits without loading them', async () => {
      const path = await databaseOf(`CREATE TABLE t (text TEXT, bytes BLOB);
      INSERT INTO t VALUES ('12345678', zeroblob(9)), ('123456789', zeroblob(100000000));
      CREATE TABLE k (code TEXT PRIMARY KEY, text) WITHOUT ROWID;
      INSERT INTO k VALUES ('123456789', 'あ'), ('x', 'い')`);
      const before = process.memoryUsage().arrayBuffers;
      const { values, parts } = visit(path, {
        limits: { ...READ_LIMITS, stringBytes: 8, entryBytes: 9 },
        readsBlob: () => true,
      });
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000);
      expect(values).toMatchObject({
        t: [
          { text: '12345678', bytes: Buffer.alloc(9) },
          { text: null, bytes: null },
        ],
        k: [{ text: 'い' }],
      });
      expect(parts).toEqual([
        ['field_too_large', 't[2].text'],
        ['container_limit_exceeded', 't[2].bytes'],
        ['field_too_large', 'k'],
      ]);
    });

    it('visits the BLOBs of chosen columns only', async () => {
      const path = await databaseOf(`CREATE TABLE t (id INTEGER PRIMARY KEY, content BLOB, other BLOB);
      INSERT INTO t VALUES (1, x'0102', x'03'), (2, 'text', x'04'), (3, x'', NULL)`);
      const { values, events } = visit(path, {
        readsBlob: (table, column) => table === 't' && column === 'content',
      });
      expect(values).toEqual({
        t: [
          { id: 1, content: Buffer.from('0102', 'hex') },
          { id: 2, content: 'text' },
          { id: 3, content: Buffer.alloc(0) },
        ],
      });
      expect(events).toContainEqual(['bytes', Buffer.from('0102', 'hex'), 0, 0]);
    });

    it('stops a table at the limit of rows', async () => {
      const limits = { ...READ_LIMITS, elements: 2 };
      const path = await databaseOf(`CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1), (2);
      CREATE TABLE u (id INTEGER); INSERT INTO u VALUES (1), (2), (3); CREATE TABLE v (id)`);
      const { values, parts } = visit(path, { limits });
      expect(values).toEqual({ t: [{ id: 1 }, { id: 2 }], u: [{ id: 1 }, { id: 2 }], v: [] });
      expect(parts).toEqual([['container_limit_exceeded', 'u']]);
    });

    it('ends when the values are much larger than the file', async () => {
      const path = await sampleDatabase();
      expect(outcome(path, { limits: { ...READ_LIMITS, ratio: 0.01 } })).toBe('container_limit_exceeded');
    });

    it('reports a table with more columns than a query can read', async () => {
      const columns = Array.from({ length: 1000 }, (_, index) => `c${index}`);
      const path = await databaseOf(`CREATE TABLE wide (${columns.join(', ')}); CREATE TABLE t (text TEXT);
      CREATE TABLE fits (${columns.slice(1).join(', ')}); INSERT INTO fits (c999) VALUES ('あ')`);
      const { values, parts } = visit(path);
      expect(values).toEqual({ t: [], fits: [{ c999: 'あ' }] });
      expect(parts).toEqual([['container_limit_exceeded', 'wide']]);
    });

    it('changes nothing beside the file, even for a database with a write-ahead log', async () => {
      const path = await databaseOf(
        "PRAGMA journal_mode = WAL; CREATE TABLE t (text TEXT); INSERT INTO t VALUES ('あ')",
      );
      const before = readFileSync(path);
      expect(visit(path).values).toEqual({ t: [{ text: 'あ' }] });
      expect(readdirSync(join(path, '..'))).toEqual(['table.db']);
      expect(readFileSync(path).equals(before)).toBe(true);
    });

    it('hands on an error of its visitor as it is', async () => {
      const { visitor } = recordValues();
      const failing = {
        ...visitor,
        integer: () => {
          throw new FormatError('sqlite_invalid', 'of the visitor');
        },
      };
      const path = await databaseOf('CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1)');
      const reportPartError = (): void => {
        throw new Error('not a part');
      };
      expect(() => visitSqlite(path, failing, { limits: READ_LIMITS, reportPartError })).toThrow(
        'of the visitor',
      );
    });
  });

  describe('the SQLite reader with a hostile schema', () => {
    const rewritten = (set: string, where: string): Promise<string> =>
      databaseOf(`CREATE TABLE good (text TEXT); INSERT INTO good VALUES ('あ');
      CREATE TABLE bad (text TEXT); INSERT INTO bad VALUES ('い'); CREATE INDEX i ON bad (text);
      PRAGMA writable_schema = ON; UPDATE sqlite_schema SET ${set} WHERE ${where}`);

    it.each([
      ['SQL that does not parse', "sql = 'CREATE TABLE bad (', name = 'bad'", "name = 'bad'"],
      ['a root page outside of the file', 'rootpage = 4000', "name = 'bad'"],
      [
        'a name twice',
        "name = 'good', tbl_name = 'good', sql = 'CREATE TABLE good (text TEXT)'",
        "name = 'bad'",
      ],
      ['a name that is not text', 'name = NULL', "name = 'bad'"],
      ['a query in place of columns', "sql = 'CREATE TABLE bad AS SELECT * FROM good'", "name = 'bad'"],
    ])('finds %s', async (_, set, where) => {
      expect(outcome(await rewritten(set, where))).toBe('sqlite_invalid');
    });

    it('loses only the table whose root page is of another kind', async () => {
      const { values, parts } = visit(
        await rewritten(
          "rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'i'), sql = 'CREATE TABLE bad (text TEXT, n)'",
          "name = 'bad'",
        ),
      );
      expect(values).toMatchObject({ good: [{ text: 'あ' }] });
      expect(parts).toEqual([['sqlite_invalid', 'bad']]);
    });

    it('never starts a virtual table that a table was rewritten to', async () => {
      const path = await databaseOf(`CREATE TABLE good (text TEXT); INSERT INTO good VALUES ('あ');
      CREATE TABLE bad (text TEXT); PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE bad USING fts5(text, content=good)' WHERE name = 'bad'`);
      expect(visit(path)).toMatchObject({
        values: { good: [{ text: 'あ' }] },
        skipped: [['bad', 'virtual table']],
      });
    });

    it('runs no function of a default, a check or a partial index', async () => {
      const path =
        await databaseOf(`CREATE TABLE t (text TEXT DEFAULT (load_extension('x')) CHECK (length(text) < 9));
      CREATE INDEX p ON t (text) WHERE upper(text) = 'A'; INSERT INTO t VALUES ('あ')`);
      expect(visit(path)).toMatchObject({ values: { t: [{ text: 'あ' }] }, parts: [] });
    });
  });

  describe('the SQLite reader with a damaged file', () => {
    it('finds a file that is missing, empty or no database', async () => {
      const directory = await temporaryDirectory();
      const write = (name: string, content: string): string => {
        writeFileSync(join(directory, name), content);
        return join(directory, name);
      };
      expect(outcome(join(directory, 'missing'))).toBe('file_unreadable');
      expect(outcome(write('empty', ''))).toBe('sqlite_invalid');
      expect(outcome(write('text', 'no database'.repeat(100)))).toBe('sqlite_invalid');
      expect(outcome(write('header', `SQLite format 3\0${'\xFF'.repeat(500)}`))).toBe('sqlite_invalid');
    });

    it('ends with an error at every 64th byte where a file is cut', async () => {
      const path = await sampleDatabase();
      const bytes = readFileSync(path);
      for (let length = 0; length < bytes.length; length += 64) {
        writeFileSync(path, bytes.subarray(0, length));
        // SQLite reads the last page of a file as zeros where its bytes are missing; that page can be an unused one.
        expect(['sqlite_invalid', 'partial']).toContain(outcome(path));
      }
    });

    it('loses only the table with a damaged page', async () => {
      const path = await sampleDatabase();
      const bytes = readFileSync(path);
      // 13 marks a leaf of a table; the index holds the same text.
      const pages = Array.from({ length: bytes.length / 512 }, (_, page) =>
        bytes.subarray(page * 512).subarray(0, 512),
      );
      pages.find((page) => page[0] === 13 && page.includes('30行目'))?.fill(0xff, 0, 16);
      writeFileSync(path, bytes);
      const { values, parts } = visit(path);
      expect(parts).toEqual([['sqlite_invalid', 'lines']]);
      const { lines, names } = values as { lines: unknown[]; names: unknown[] };
      expect(lines.length).toBeGreaterThan(5);
      expect(lines.length).toBeLessThan(40);
      expect(names).toHaveLength(30);
    });

    it('stops a table whose pages are used twice, before a row repeats', async () => {
      const path = await sampleDatabase();
      const bytes = readFileSync(path);
      const pages = Array.from({ length: bytes.length / 512 }, (_, page) =>
        bytes.subarray(page * 512, (page + 1) * 512),
      );
      // Inner pages: 5 of a table, 2 of a table WITHOUT ROWID. The last child becomes the first one again.
      for (const page of pages.filter(([kind]) => kind === 5 || kind === 2)) {
        const headerBytes = 12;
        page.writeUInt32BE(page.readUInt32BE(page.readUInt16BE(headerBytes)), 8);
      }
      writeFileSync(path, bytes);
      const { parts, names } = visit(path);
      expect(parts).toEqual([
        ['sqlite_invalid', 'lines'],
        ['sqlite_invalid', 'names'],
      ]);
      expect(names.length).toBeGreaterThan(2);
      expect(new Set(names).size).toBe(names.length);
    });

    it('reads damaged files, or ends with a code', async () => {
      const path = await sampleDatabase();
      const bytes = readFileSync(path);
      const outcomes = new Set<string>();
      for (const damaged of mutations(bytes, { seed: 16, count: campaignSize(300, 40_000) })) {
        writeFileSync(path, damaged);
        outcomes.add(outcome(path));
      }
      expect([...outcomes]).toEqual(expect.arrayContaining(['read', 'partial', 'sqlite_invalid']));
    });
  });
});

const SCHEMA = `
  CREATE TABLE line (id INTEGER PRIMARY KEY, text TEXT CHECK (length(text) < 5000), speaker TEXT, score REAL, data BLOB,
    size INTEGER GENERATED ALWAYS AS (length(text)) VIRTUAL);
  CREATE INDEX by_text ON line (text);
  CREATE TABLE "odd.name" (scene TEXT, n, "te""xt" TEXT, PRIMARY KEY (scene, n)) WITHOUT ROWID;
  CREATE TABLE number (value NUMERIC);
  CREATE TABLE fired (text TEXT);
  CREATE TRIGGER fire AFTER UPDATE ON fired BEGIN UPDATE line SET text = 'fired'; END;
  CREATE TABLE term (name TEXT UNIQUE, note TEXT);
  CREATE TABLE uses (name TEXT REFERENCES term (name), note TEXT);
  CREATE VIEW names AS SELECT speaker FROM line;`;

function create(path: string, before: string): void {
  const database = new DatabaseSync(path);
  database.exec(`${before}; ${SCHEMA}`);
  const insert = database.prepare('INSERT INTO line (id, text, speaker, score, data) VALUES (?, ?, ?, ?, ?)');
  insert.setReadBigInts(true);
  for (let id = 1; id <= 60; id += 1) {
    insert.run(
      id === 60 ? 2n ** 62n : id,
      `行${id}`.repeat(id % 7 === 0 ? 900 : 1),
      'アロナ',
      id / 3,
      Buffer.from(`[${id},"い"]`),
    );
  }
  database.exec(`INSERT INTO "odd.name" VALUES ('a''b#', 1, 'あ'), ('a''b#', '1', 'い'), ('a''b#', x'31', 'う'), ('c', 1.5, 'え');
    INSERT INTO number VALUES ('おn'); INSERT INTO fired VALUES ('か'); INSERT INTO term VALUES ('き', 'く');
    INSERT INTO uses VALUES ('き', 'け');`);
  database.close();
}

const MODES = {
  plain: '',
  'utf-16': "PRAGMA encoding = 'UTF-16be'",
  wal: 'PRAGMA journal_mode = WAL',
  vacuum: 'PRAGMA auto_vacuum = FULL; PRAGMA page_size = 1024',
};

const textsOf = (path: string): ReadonlyMap<string, string> =>
  textsByPath(DOTTED_SYNTAX, (visitor) => {
    visitSqlite(path, visitor, { limits: READ_LIMITS, reportPartError: () => undefined });
  });

const edit = (fieldPath: string, source: string, target: string) => ({ fieldPath, source, target });

describe('patchSqlite', () => {
  let directory = '';
  const original = (mode: string): string => join(directory, `${mode}.db`);
  const patched = (mode: string, edits: readonly ValueEdit[], name = 'copy'): string => {
    const path = join(directory, `${mode}-${name}.db`);
    copyFileSync(original(mode), path);
    patchSqlite(path, edits);
    return path;
  };

  beforeAll(async () => {
    directory = await temporaryDirectory(afterAll);
    for (const [mode, before] of Object.entries(MODES)) create(original(mode), before);
  });

  it.for(Object.keys(MODES))('changes rows by their keys, and nothing else: %s', (mode) => {
    const edits: ValueEdit[] = [
      edit('line[1].text', '行1', 'long '.repeat(900)),
      edit('line[7].text', '行7'.repeat(900), ''),
      edit('line[4611686018427387904].text', '行60', '😀'),
      edit(`["odd.name"]['a''b#',1]["te\\"xt"]`, 'あ', 'one'),
      edit(`["odd.name"]['a''b#','1']["te\\"xt"]`, 'い', 'two'),
      edit(`["odd.name"]['a''b#',x'31']["te\\"xt"]`, 'う', 'three'),
      edit(`["odd.name"]['c',1.5]["te\\"xt"]`, 'え', 'four'),
      edit('term[1].note', 'く', '"note"'),
    ];
    const path = patched(mode, edits);
    const before = textsOf(original(mode));
    const fields = edits.flatMap((each) => ('target' in each ? [each] : []));
    expect(textsOf(path)).toEqual(editedTexts(before, fields));
    expect(compareSqlite(original(mode), path, edits)).toEqual({ rows: 68, changed: 8 });
    const database = new DatabaseSync(path);
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
    expect(database.prepare('SELECT size FROM line WHERE id = 1').get()).toEqual({ size: 4500 });
    database.close();
  });

  it.for(Object.keys(MODES))(
    'writes the same bytes each time, with the header of the original: %s',
    (mode) => {
      const edits = [edit('line[1].text', '行1', 'one'), edit('line[2].text', '行2', 'two')];
      const [first, second] = ['first', 'second'].map((name) => readFileSync(patched(mode, edits, name)));
      expect(first?.equals(second ?? Buffer.alloc(0))).toBe(true);
      const official = readFileSync(original(mode));
      expect(first?.subarray(16, 24)).toEqual(official.subarray(16, 24));
      expect(first?.readUInt32BE(24)).toBe(official.readUInt32BE(24) + 1);
      expect(first?.readUInt32BE(92)).toBe(official.readUInt32BE(24) + 1);
      expect(first?.readUInt32BE(96)).toBe(official.readUInt32BE(96));
    },
  );

  it('patches a file inside of a BLOB', () => {
    const nested: ValueEdit = {
      fieldPath: 'line[3].data',
      patch: (value) => Buffer.from(Buffer.from(value).toString().replace('い', 'in')),
    };
    const path = patched('plain', [nested]);
    expect(compareSqlite(original('plain'), path, [nested]).changed).toBe(1);
    const database = new DatabaseSync(path);
    expect(
      Buffer.from(
        database.prepare('SELECT data FROM line WHERE id = 3').get()?.['data'] as Uint8Array,
      ).toString(),
    ).toBe('[3,"in"]');
    database.close();
  });

  it.for([
    ['not_writable', edit('fired[1].text', 'か', 'x'), 'triggers'],
    ['not_writable', edit(`["odd.name"]['a''b#',1].scene`, "a'b#", 'x'), 'key'],
    ['not_writable', edit('term[1].name', 'き', 'x'), 'foreign key'],
    ['not_writable', edit('uses[1].name', 'き', 'x'), 'foreign key'],
    ['not_writable', edit('line[1].text', '行1', 'x'.repeat(5000)), 'CHECK'],
    ['round_trip_failed', edit('number[1].value', 'おn', '12'), 'column'],
    ['character_not_allowed', edit('line[1].text', '行1', 'a\0b'), 'NUL'],
    ['place_not_found', edit('line[61].text', '行1', 'x'), 'path'],
  ] as const)('refuses with %s the edit %o: %s', ([code, refused, message]) => {
    const path = join(directory, 'refused.db');
    copyFileSync(original('plain'), path);
    expect(() => patchSqlite(path, [refused])).toThrow(message);
    copyFileSync(original('plain'), path);
    expect(patchErrorOf(() => patchSqlite(path, [refused]))).toEqual({ code, fieldPath: refused.fieldPath });
  });

  it('names at reading what cannot be replaced: tables with triggers, and texts of keys', () => {
    const refused: string[] = [];
    const parts: unknown[] = [];
    const texts = textsByPath(DOTTED_SYNTAX, (visitor) => {
      visitSqlite(original('plain'), visitor, {
        limits: READ_LIMITS,
        reportPartError: (error, path) => parts.push([error.code, path]),
        onKeyText: (text) => refused.push(text),
      });
    });
    expect(parts).toEqual([['not_writable', 'fired']]);
    expect(refused).toEqual(["a'b#", "a'b#", '1', "a'b#", 'c', 'き', 'き']);
    const readable = [...textsOf(original('plain'))].filter(([, text]) => !refused.includes(text));
    expect([...texts]).toEqual(readable.filter(([path]) => !path.startsWith('fired')));
  });

  it('reads back exactly, whatever is edited', () => {
    const writable = (path: string): boolean => /^line\[\d+\]\.|\["te|note$/.test(path);
    for (let seed = 1; seed <= 20; seed += 1) {
      const mode = Object.keys(MODES)[seed % 4] ?? 'plain';
      const texts = textsOf(original(mode));
      const edits = randomEdits(texts, seed).filter(({ fieldPath }) => writable(fieldPath));
      const path = patched(mode, edits);
      expect(textsOf(path)).toEqual(editedTexts(texts, edits));
      expect(compareSqlite(original(mode), path, edits).rows).toBe(68);
    }
  });

  it('finds a difference that no edit names', () => {
    const path = join(directory, 'other.db');
    for (const sql of [
      'UPDATE line SET score = 1 WHERE id = 5',
      'DELETE FROM line WHERE id = 59',
      "INSERT INTO line VALUES (70, 'x', '', 1, '')",
      "UPDATE uses SET note = 'x'",
      'PRAGMA user_version = 3',
      'CREATE TABLE other (a)',
    ]) {
      copyFileSync(original('plain'), path);
      const database = new DatabaseSync(path);
      database.exec(sql);
      database.close();
      expect([sql, patchErrorOf(() => compareSqlite(original('plain'), path, []))?.code]).toEqual([
        sql,
        'round_trip_failed',
      ]);
    }
  });

  it('refuses damaged files, or changes only the edited text', () => {
    const path = join(directory, 'damaged.db');
    const copy = join(directory, 'damaged-copy.db');
    const edits = [edit('line[1].text', '行1', 'one')];
    let patchedFiles = 0;
    for (const damaged of mutations(readFileSync(original('vacuum')), { seed: 1, count: 80 })) {
      writeFileSync(path, damaged);
      writeFileSync(copy, damaged);
      try {
        patchSqlite(copy, edits);
        expect(compareSqlite(path, copy, edits).changed).toBe(1);
        patchedFiles += 1;
      } catch (error) {
        if (!(error instanceof FormatError || error instanceof PatchError)) throw error;
      }
    }
    expect(patchedFiles).toBeGreaterThan(3);
  });
});
