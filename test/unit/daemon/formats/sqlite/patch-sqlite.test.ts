import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOTTED_SYNTAX } from '../../../../../src/daemon/formats/collect/path-syntax.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import { PatchError } from '../../../../../src/daemon/formats/patch/patch-error.ts';
import type { ValueEdit } from '../../../../../src/daemon/formats/patch/value-edit.ts';
import { compareSqlite } from '../../../../../src/daemon/formats/sqlite/compare-sqlite.ts';
import { patchSqlite } from '../../../../../src/daemon/formats/sqlite/patch-sqlite.ts';
import { visitSqlite } from '../../../../../src/daemon/formats/sqlite/visit-sqlite.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { mutations } from '../../../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../../../support/random-edits.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

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
