import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MAIN_MIGRATIONS, openDatabase } from '../../../../src/daemon/database/database.ts';
import { checkStructure } from '../../../../src/daemon/database/structure-check.ts';
import { openSqliteDatabase, type Database } from '../../../../src/daemon/database/sqlite-database.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const FIRST = {
  version: 1,
  name: 'first',
  sql: 'CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT) STRICT;',
};
const SECOND = { version: 2, name: 'second', sql: 'ALTER TABLE note ADD COLUMN author TEXT;' };

function open(path: string, migrations = [FIRST], applicationId = 77): Database {
  const database = openSqliteDatabase({ path, migrations, applicationId });
  onTestFinished(() => database.close());
  return database;
}

async function file(): Promise<string> {
  return join(await temporaryDirectory(), 'main.db');
}

/** A database with a table of names. */
async function trialTable() {
  const database = open(await file());
  const insert = database.prepare('INSERT INTO note (text) VALUES (?)');
  const names = database.prepare('SELECT text FROM note ORDER BY id');
  return {
    database,
    insert: (name: string) => insert.run(name),
    names: () => names.all().map(({ text }) => text),
  };
}

describe('a database', () => {
  it('is opened with the settings that keep committed data', async () => {
    const database = open(await file());
    const setting = (name: string): unknown =>
      Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    expect(
      ['journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout', 'application_id'].map(setting),
    ).toEqual(['wal', 2, 1, 5000, 77]);
    expect(await database.checkStructure()).toBeNull();
  });

  it('keeps the content of a moment until that is closed', async () => {
    const { database, insert, names } = await trialTable();
    insert('before');
    const moment = database.openSnapshot();
    const read = moment.prepare('SELECT text FROM note');
    insert('after');
    expect(read.all()).toEqual([{ text: 'before' }]);
    expect(() => moment.prepare(`INSERT INTO note (text) VALUES ('x')`).run()).toThrow(/readonly/);
    expect(names()).toEqual(['before', 'after']);
    moment.close();
    moment.close();
    const next = database.openSnapshot();
    expect(next.prepare('SELECT text FROM note').all()).toHaveLength(2);
    database.close();
    expect(() => next.prepare('SELECT 1')).toThrow(/not open/);
  });

  it('waits for the disk with each commit, except where the caller can lose it', async () => {
    const database = open(await file());
    // 2 is FULL: each commit waits. 1 is NORMAL: in WAL mode only a checkpoint waits.
    const level = (): unknown => database.prepare('PRAGMA synchronous').get()?.['synchronous'];
    const relaxed = { durable: false };
    expect(database.transaction(level)).toBe(2);
    expect(database.transaction(level, relaxed)).toBe(1);
    expect(database.transaction(() => database.transaction(level, relaxed))).toBe(2);
    expect(() =>
      database.transaction(() => {
        throw new Error('refused');
      }, relaxed),
    ).toThrow('refused');
    expect(level()).toBe(2);
  });

  it('does not wait where all of its content can be made again, also after a transaction that waited', async () => {
    const database = openSqliteDatabase({
      path: await file(),
      migrations: [FIRST],
      applicationId: 77,
      durable: false,
    });
    onTestFinished(() => {
      database.close();
    });
    const level = (): unknown => database.prepare('PRAGMA synchronous').get()?.['synchronous'];
    expect(database.transaction(level)).toBe(1);
    expect(database.transaction(level, { durable: true })).toBe(2);
    expect(database.transaction(level, { durable: false })).toBe(1);
    expect(level()).toBe(1);
  });

  it('migrates its schema step by step and keeps its content', async () => {
    const path = await file();
    const old = open(path);
    old.prepare(`INSERT INTO note (text) VALUES ('kept')`).run();
    old.close();
    const newer = open(path, [FIRST, SECOND]);
    expect(newer.schemaVersion).toBe(2);
    expect(newer.prepare('SELECT text, author FROM note').get()).toEqual({ text: 'kept', author: null });
  });

  it('keeps nothing of a step that fails', async () => {
    const path = await file();
    open(path).close();
    const broken = { version: 2, name: 'broken', sql: 'CREATE TABLE half (id INTEGER); SELECT nonsense;' };
    expect(() => open(path, [FIRST, broken])).toThrow(/schema step 2 \(broken\)/);
    const again = open(path);
    expect(again.schemaVersion).toBe(1);
    expect(again.prepare(`SELECT count(*) AS n FROM sqlite_schema WHERE name = 'half'`).get()).toEqual({
      n: 0,
    });
  });

  it('refuses a file of a newer version and does not touch it', async () => {
    const path = await file();
    open(path, [FIRST, SECOND]).close();
    expect(() => open(path, [FIRST])).toThrow(/newer daemon \(schema 2, this one knows 1\)/);
    expect(open(path, [FIRST, SECOND]).schemaVersion).toBe(2);
  });

  it('refuses a file of another program, and one that is not a database', async () => {
    const path = await file();
    const foreign = new DatabaseSync(path);
    foreign.exec('CREATE TABLE theirs (id INTEGER)');
    foreign.close();
    expect(() => open(path)).toThrow(/another program/);
    await writeFile(path, 'not a database at all, but long enough to look at'.repeat(40));
    expect(() => open(path)).toThrow(/is damaged .*not a database/);
  });

  it('refuses a damaged file', async () => {
    const path = await file();
    const database = open(path);
    const insert = database.prepare('INSERT INTO note (text) VALUES (?)');
    database.transaction(() => {
      for (let i = 0; i < 2000; i += 1) insert.run(`line ${i} ${'x'.repeat(100)}`);
    });
    database.close();
    const bytes = await readFile(path);
    bytes.fill(0xa5, 8192, 40_960);
    await writeFile(path, bytes);
    expect(() => open(path)).toThrow(/damaged|malformed/);
  });

  it('checks a large file one table at a time', async () => {
    const path = await file();
    const database = open(path, [
      FIRST,
      { version: 2, name: 'other', sql: 'CREATE TABLE other (id INTEGER) STRICT;' },
    ]);
    const insert = database.prepare('INSERT INTO note (text) VALUES (?)');
    database.transaction(() => {
      for (let i = 0; i < 2000; i += 1) insert.run(`line ${i} ${'x'.repeat(100)}`);
    });
    database.close();
    const sound = new DatabaseSync(path);
    expect([...checkStructure(sound, 0)]).toEqual([null, null]);
    sound.close();
    const bytes = await readFile(path);
    bytes.fill(0xa5, bytes.length - 8192);
    await writeFile(path, bytes);
    const damaged = new DatabaseSync(path);
    onTestFinished(() => damaged.close());
    expect([...checkStructure(damaged, 0)].map((finding) => finding === null)).toEqual([false, true]);
  });

  it('checks its structure in a thread of its own, while it is open', async () => {
    const path = await file();
    const database = open(path);
    const insert = database.prepare('INSERT INTO note (text) VALUES (?)');
    for (let n = 0; n < 200; n += 1) insert.run('x'.repeat(1000));
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    onTestFinished(() => {
      prepare.mockRestore();
    });
    expect(await database.checkStructure()).toBeNull();
    expect(prepare.mock.calls).toEqual([]);
    // Into the file itself, where the other connection looks for it.
    database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    const bytes = await readFile(path);
    bytes.fill(0xa5, bytes.length - 8192);
    await writeFile(path, bytes);
    const finding = await database.checkStructure().catch((error: unknown) => (error as Error).message);
    expect(finding).toMatch(/malformed|page|tree/iu);
  });

  it('reports a folder that does not exist', async () => {
    expect(() => open(join('/nonexistent', 'main.db'))).toThrow(/cannot be opened.*folder must exist/);
  });

  it('rolls a transaction back when its section throws, and an inner one alone', async () => {
    const database = open(await file());
    const insert = database.prepare('INSERT INTO note (text) VALUES (?)');
    const count = (): unknown => database.prepare('SELECT count(*) AS n FROM note').get()?.['n'];
    expect(() =>
      database.transaction(() => {
        insert.run('lost');
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(count()).toBe(0);
    database.transaction(() => {
      insert.run('outer');
      expect(() =>
        database.transaction(() => {
          insert.run('inner');
          throw new Error('no');
        }),
      ).toThrow('no');
    });
    expect(count()).toBe(1);
    expect(() => database.transaction(async () => Promise.resolve(insert.run('late')))).toThrow(
      /must not wait/,
    );
    expect(count()).toBe(1);
  });

  it('takes back the changes of a trial, and those of an inner one alone', async () => {
    const { database, insert, names } = await trialTable();
    const seen = database.transaction(
      () => {
        insert('tried');
        return names();
      },
      { isTrial: true },
    );
    expect([seen, names()]).toEqual([['tried'], []]);
    database.transaction(() => {
      insert('kept');
      database.transaction(
        () => {
          insert('tried');
        },
        { isTrial: true },
      );
      insert('kept too');
    });
    expect(names()).toEqual(['kept', 'kept too']);
    const withInner = (): void => {
      database.transaction(() => {
        insert('inner');
      });
    };
    database.transaction(withInner, { isTrial: true });
    database.transaction(withInner, { isTrial: true, durable: false });
    expect(names()).toEqual(['kept', 'kept too']);
  });

  it('leaves no transaction behind when a trial throws', async () => {
    const { database, insert, names } = await trialTable();
    const fail = (): void => {
      insert('tried');
      throw new Error('no');
    };
    expect(() => {
      database.transaction(fail, { isTrial: true });
    }).toThrow('no');
    insert('after');
    expect(names()).toEqual(['after']);
  });

  it('keeps tasks, logs and keys when the lane of repairs is added', async () => {
    const path = await file();
    const before = open(path, MAIN_MIGRATIONS.slice(0, 5), 0x53_4c_50_6d);
    before
      .prepare(
        `INSERT INTO task (seq, task_id, kind, lane, status, args_json, dedupe_key, max_attempts, run_at_ms, created_at)
         VALUES (7, 'T7', 'sync', 'release', 'succeeded', '{}', 'sync:x', 5, 1, 1)`,
      )
      .run();
    before.prepare(`INSERT INTO task_log VALUES ('T7', 1, 1, 'info', 'done', NULL)`).run();
    before.prepare(`INSERT INTO idempotency VALUES ('digest', 'sync:x', 'T7', 1)`).run();
    before.close();
    const database = openDatabase(path);
    onTestFinished(() => database.close());
    const count = (table: string): unknown =>
      database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'];
    expect(['task', 'task_log', 'idempotency'].map(count)).toEqual([1, 1, 1]);
    database
      .prepare(
        `INSERT INTO task (task_id, kind, lane, status, args_json, dedupe_key, max_attempts, run_at_ms, created_at)
         VALUES ('T8', 'damage-repair', 'repair', 'queued', '{}', 'r', 1, 1, 1)`,
      )
      .run();
    expect(database.prepare(`SELECT seq FROM task WHERE task_id = 'T8'`).get()).toEqual({ seq: 8 });
    database.prepare(`DELETE FROM task WHERE task_id = 'T7'`).run();
    expect(['task', 'task_log', 'idempotency'].map(count)).toEqual([1, 0, 0]);
    expect(database.prepare('PRAGMA foreign_key_check').all()).toEqual([]);
  });

  it('has steps for the main schema that are numbered without a gap', async () => {
    const database = openDatabase(await file());
    onTestFinished(() => database.close());
    expect(database.schemaVersion).toBe(MAIN_MIGRATIONS.length);
  });
});
