import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMemoryFiles, type MemoryFiles } from '../../../../../src/daemon/memory/store/memory-files.ts';
import { lookup, memoryFiles, proposal, trust } from '../../../../support/memory-records.ts';

function counts(files: MemoryFiles, path: string | null = null) {
  return files.read(path, (store) => store.counts().counts);
}

describe('the main file', () => {
  it('is created empty, and keeps its records when it is opened again', async () => {
    const { files, paths } = await memoryFiles();
    expect(counts(files)).toEqual({
      candidate: 0,
      trusted: 0,
      superseded: 0,
      rejected: 0,
      conflict_groups: 0,
    });
    trust(files, proposal('はい', '是'));
    files.close();
    const again = createMemoryFiles(paths);
    expect(again.read(null, (store) => store.find(lookup('はい')))).toMatchObject([{ score: 100 }]);
    again.close();
  });

  it('keeps its records and what was indexed when it is of the first schema', async () => {
    const { files, paths } = await memoryFiles();
    const [id = ''] = trust(files, proposal('学園へようこそ', '欢迎来到学园'));
    files.write(null, (store) => store.indexTexts(10));
    files.close();
    runSql(
      paths.main,
      `DROP TABLE indexed_texts; DROP INDEX record_width; DROP INDEX record_identity; DROP INDEX record_source;
       CREATE INDEX record_identity ON record (identity, state); CREATE INDEX record_source ON record (source_key, state);
       CREATE INDEX record_width ON record (width_key); ALTER TABLE record_history DROP COLUMN token_id;
       ALTER TABLE record DROP COLUMN author_kind; ALTER TABLE record DROP COLUMN author_token_id; PRAGMA user_version = 1`,
    );
    files.write(null, (store) => {
      expect(store.indexTexts(10)).toBe(0);
      expect(store.find(lookup('学園へようこそ'))).toMatchObject([{ score: 100, record: { record_id: id } }]);
      expect(store.find(lookup('学園へようこそ!'))).toMatchObject([
        { match_type: 'fuzzy', record: { record_id: id } },
      ]);
      expect(store.propose([proposal('学園へようこそ', '欢迎来到学园')], 300)).toMatchObject([
        { outcome: 'known' },
      ]);
    });
  });

  it.each<[string, (path: string) => void, RegExp]>([
    ['damaged', (path) => truncateSync(path, 5000), /damaged|malformed|not a database/],
    ['overwritten', (path) => writeFileSync(path, 'x'.repeat(4096)), /not a database/],
    ['newer', (path) => runSql(path, 'PRAGMA user_version = 99'), /newer daemon/],
    ['of another program', (path) => runSql(path, 'PRAGMA application_id = 7'), /another program/],
  ])(
    'that is %s is unavailable, left as it is, and used again when it is restored',
    async (_, spoil, message) => {
      const { files, paths } = await memoryFiles();
      trust(files, proposal('はい', '是'));
      files.close();
      const backup = `${paths.main}.backup`;
      cpSync(paths.main, backup);
      spoil(paths.main);
      const spoiled = readFileSync(paths.main);
      for (let attempt = 0; attempt < 2; attempt += 1) {
        expect(() => counts(files)).toThrow(expect.objectContaining({ code: 'unavailable' }));
        expect(() => counts(files)).toThrow(message);
        expect(() => trust(files, proposal('いいえ', '不'))).toThrow(message);
      }
      expect(readFileSync(paths.main).equals(spoiled)).toBe(true);
      for (const suffix of ['', '-wal', '-shm']) rmSync(paths.main + suffix, { force: true });
      cpSync(backup, paths.main);
      expect(counts(files)).toMatchObject({ trusted: 1 });
    },
  );
});

describe('the main file that is gone', () => {
  it('is not replaced by an empty one, also while it was open', async () => {
    const { files, paths } = await memoryFiles();
    trust(files, proposal('はい', '是'));
    for (const suffix of ['', '-wal', '-shm']) rmSync(paths.main + suffix, { force: true });
    expect(() => counts(files)).toThrow(/was there before and is missing now/);
    expect(() => trust(files, proposal('いいえ', '不'))).toThrow(
      expect.objectContaining({ code: 'unavailable' }),
    );
    rmSync(join(dirname(paths.main), '.memory.db.created'));
    files.close();
    const again = createMemoryFiles(paths);
    expect(counts(again)).toMatchObject({ trusted: 0 });
    again.close();
  });
});

function runSql(path: string, sql: string): void {
  const raw = new DatabaseSync(path);
  raw.exec(sql);
  raw.close();
}

describe('other files', () => {
  it('are read below the root, with links resolved, and never written', async () => {
    const { files, paths } = await memoryFiles();
    trust(files, proposal('はい', '是'));
    files.close();
    mkdirSync(join(paths.root, 'old'), { recursive: true });
    cpSync(paths.main, join(paths.root, 'old/2025.db'));
    symlinkSync(join(paths.root, 'old/2025.db'), join(paths.root, 'last.db'));
    for (const path of ['old/2025.db', 'last.db']) expect(counts(files, path)).toMatchObject({ trusted: 1 });
    expect(() => files.write('old/2025.db', (store) => store.counts())).toThrow(
      expect.objectContaining({ code: 'invalid_path' }),
    );
  });

  it('can be the main file when it lies below the root', async () => {
    const { files, paths } = await memoryFiles();
    trust(files, proposal('はい', '是'));
    files.close();
    const own = createMemoryFiles({ main: paths.main, root: dirname(paths.main) });
    onTestFinished(() => own.close());
    symlinkSync(paths.main, join(dirname(paths.main), 'own.db'));
    for (const path of ['memory.db', 'own.db']) {
      expect(own.write(path, (store) => store.counts())).toMatchObject({ counts: { trusted: 1 } });
    }
  });

  it('may be on a folder that cannot be written', async () => {
    const { files, paths } = await memoryFiles();
    trust(files, proposal('はい', '是'));
    files.close();
    mkdirSync(paths.root);
    cpSync(paths.main, join(paths.root, 'a.db'));
    chmodSync(join(paths.root, 'a.db'), 0o400);
    expect(counts(files, 'a.db')).toMatchObject({ trusted: 1 });
  });

  it.each(['../memory.db', '/etc/passwd', 'a//b', './a.db', 'a\0b', 'a\\b', '', 'out.db'])(
    'outside of the root are refused: %j',
    async (path) => {
      const { files, paths } = await memoryFiles();
      mkdirSync(paths.root);
      writeFileSync(join(dirname(paths.root), 'secret.db'), '');
      symlinkSync(join(dirname(paths.root), 'secret.db'), join(paths.root, 'out.db'));
      expect(() => counts(files, path)).toThrow(expect.objectContaining({ code: 'invalid_path' }));
    },
  );

  it('that are missing or no Translation Memory are named as such', async () => {
    const { files, paths } = await memoryFiles();
    expect(() => counts(files, 'a.db')).toThrow(expect.objectContaining({ code: 'file_not_found' }));
    mkdirSync(paths.root);
    expect(() => counts(files, 'a.db')).toThrow(expect.objectContaining({ code: 'file_not_found' }));
    runSql(join(paths.root, 'b.db'), 'CREATE TABLE t (x)');
    expect(() => counts(files, 'b.db')).toThrow(/not a Translation Memory/);
  });

  it('are closed when many are open, and opened again', async () => {
    const { files, paths } = await memoryFiles();
    trust(files, proposal('はい', '是'));
    files.close();
    mkdirSync(paths.root);
    const names = Array.from({ length: 7 }, (_, index) => `${index}.db`);
    for (const name of names) cpSync(paths.main, join(paths.root, name));
    for (const name of [...names, ...names]) expect(counts(files, name)).toMatchObject({ trusted: 1 });
  });
});
