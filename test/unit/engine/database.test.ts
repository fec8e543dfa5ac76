import { execFileSync } from 'node:child_process';
import { copyFile, lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CHECK_TIMEOUT_MS, checkLargeFile } from '../../../src/engine/database/check-large-file.ts';
import {
  openMainDatabase,
  type MainDatabase,
  type OpenMainOptions,
} from '../../../src/engine/database/main-database.ts';
import { openSqliteDatabase, type Database } from '../../../src/engine/database/sqlite-database.ts';
import { checkStructure } from '../../../src/engine/database/structure-check.ts';
import { createSilentLogger, type Logger } from '../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { childrenOf } from '../../support/process-figures.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

async function file(): Promise<string> {
  return join(await temporaryDirectory(), 'main.db');
}

/** The default of SQLite. */
const PAGE_BYTES = 4096;

async function kept(path: string): Promise<string[]> {
  return (await readdir(dirname(path)))
    .filter((name) => name.startsWith(`${basename(path)}.damaged-`))
    .sort();
}

/** The child of this process that runs a program; `false` without one. */
async function childWith(program: string): Promise<number | false> {
  for (const pid of await childrenOf('self')) {
    if ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(program)) return pid;
  }
  return false;
}

describe('the main database', () => {
  async function open(
    path: string,
    {
      day = 1,
      ...options
    }: Partial<Pick<OpenMainOptions, 'wholeFileBytes' | 'checkLarge'>> & { readonly day?: number } = {},
  ): Promise<MainDatabase> {
    const opened = await openMainDatabase(path, {
      clock: { ...systemClock, now: () => Date.UTC(2026, 0, day) },
      logger: createSilentLogger(),
      signal: new AbortController().signal,
      restart: () => undefined,
      ...options,
    });
    onTestFinished(() => opened.database.close());
    return opened;
  }

  it('is opened as it is when it is sound', async () => {
    const path = await file();
    (await open(path)).database.close();
    expect((await open(path)).rebuilt).toBeNull();
    expect(await kept(path)).toEqual([]);
  });

  it('is replaced by an empty one when it is damaged; the damaged file is kept aside', async () => {
    const path = await file();
    const damage = 'not a database at all, but long enough to look at'.repeat(40);
    await writeFile(path, damage);
    const { database, rebuilt } = await open(path);
    expect(rebuilt).toEqual({
      keptAt: `${path}.damaged-2026-01-01T00-00-00.000Z`,
      finding: expect.stringContaining('not a database') as unknown,
    });
    expect(await readFile(rebuilt?.keptAt ?? '', 'utf8')).toBe(damage);
    expect(database.schemaVersion).toBeGreaterThan(0);
    expect(await database.checkStructure()).toBeNull();
  });

  it.each([
    ['a folder', (path: string) => mkdir(join(path, 'x'), { recursive: true })],
    ['a named pipe', (path: string) => Promise.resolve(execFileSync('mkfifo', [path]))],
    ['a link to nothing', (path: string) => symlink('/not/there', path)],
  ])('takes the place of %s, which is kept aside', async (_what, make) => {
    const path = await file();
    await make(path);
    const { database, rebuilt } = await open(path);
    expect(rebuilt).toEqual({
      keptAt: `${path}.damaged-2026-01-01T00-00-00.000Z`,
      finding: 'not a regular file',
    });
    await lstat(rebuilt?.keptAt ?? '');
    expect(await database.checkStructure()).toBeNull();
  });

  it('keeps the newest three damaged files', async () => {
    const path = await file();
    for (let day = 1; day <= 5; day += 1) {
      await writeFile(path, 'not a database at all, but long enough to look at'.repeat(40));
      (await open(path, { day })).database.close();
    }
    expect(await kept(path)).toEqual([3, 4, 5].map((day) => `main.db.damaged-2026-01-0${day}T00-00-00.000Z`));
  });

  it('is not replaced when it is of a newer version or of another program', async () => {
    const path = await file();
    const foreign = new DatabaseSync(path);
    foreign.exec('CREATE TABLE theirs (id INTEGER)');
    foreign.close();
    await expect(open(path)).rejects.toThrow('another program');
    const newer = await file();
    const { database } = await open(newer);
    database.prepare('PRAGMA user_version = 999').get();
    database.close();
    await expect(open(newer)).rejects.toThrow('newer daemon');
    expect([...(await kept(path)), ...(await kept(newer))]).toEqual([]);
  });

  it('is checked in a process of its own when it is large, also with the log that a killed daemon left', async () => {
    const path = await file();
    const { database } = await open(path);
    database.transaction(() => {
      const insert = database.prepare(
        `INSERT INTO repair_attempt (subject, attempts, tried_at, next_at_ms) VALUES (?, 1, 0, 0)`,
      );
      for (let n = 0; n < 5000; n += 1) insert.run(`official/${n}`);
    });
    const copy = join(await temporaryDirectory(), 'main.db');
    for (const suffix of ['', '-wal']) await copyFile(`${path}${suffix}`, `${copy}${suffix}`);
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    onTestFinished(() => {
      prepare.mockRestore();
    });
    const checksHere = (): number => prepare.mock.calls.filter(([sql]) => sql.includes('quick_check')).length;
    const large = { wholeFileBytes: 1 };
    const opened = await open(copy, large);
    expect(opened.rebuilt).toBeNull();
    expect(opened.database.prepare('SELECT count(*) AS n FROM repair_attempt').get()).toEqual({ n: 5000 });
    expect(checksHere()).toBe(0);

    opened.database.close();
    const bytes = await readFile(copy);
    bytes.fill(0xa5, bytes.length - 16_384);
    await writeFile(copy, bytes);
    const replaced = await open(copy, large);
    expect(replaced.rebuilt?.finding).toMatch(/malformed|page|tree/iu);
    expect(await kept(copy)).toContain(basename(replaced.rebuilt?.keptAt ?? ''));
    expect(checksHere()).toBeLessThanOrEqual(1);
  });

  it('is replaced when a page that the check of its structure did not come to is damaged', async () => {
    const path = await file();
    const { database } = await open(path);
    const insert = database.prepare(
      `INSERT INTO upstream_probe (upstream_label, ok, message, checked_at) VALUES (?, 1, 'm', 0)`,
    );
    database.transaction(() => {
      for (let n = 0; n < 1000; n += 1) insert.run(`label-${n}`);
    });
    database.close();
    const content = await readFile(path);
    const page = Math.floor(content.indexOf('label-500') / PAGE_BYTES) * PAGE_BYTES;
    await writeFile(path, content.fill(0xff, page, page + 64));
    const options = { wholeFileBytes: 1, checkLarge: () => Promise.resolve({ kind: 'too_long' } as const) };
    expect((await open(path, options)).rebuilt?.finding).toContain('malformed');
  });

  it('is not opened when the daemon stops during its check', async () => {
    const path = await file();
    const stopped = AbortSignal.abort(new Error('the daemon is stopping'));
    const calm = { clock: systemClock, logger: createSilentLogger(), restart: () => undefined };
    await expect(openMainDatabase(path, { ...calm, signal: stopped })).rejects.toThrow('stopping');
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('does not wait for a check that hangs when the daemon stops, and ends the process that checks', async () => {
    const path = await file();
    // Opening a pipe that nobody writes to hangs as a read of a volume that does not answer.
    execFileSync('mkfifo', [path]);
    const stopping = new AbortController();
    const lines: string[] = [];
    const note = (_fields: object, text: string): void => void lines.push(text);
    const options = {
      clock: systemClock,
      logger: { info: note, warn: note } as unknown as Logger,
      signal: stopping.signal,
    };
    const check = checkLargeFile(path, 1, options);
    const checker = await until(() => childWith('structure-process.ts'));
    expect(lines).toEqual(['the structure of the database is being checked']);
    stopping.abort(new Error('the daemon is stopping'));
    await expect(check).rejects.toThrow('the daemon is stopping');
    await until(async () => (await childWith('structure-process.ts')) !== checker);
  });

  it('continues without the whole check when that takes too long, and with its own when it failed', async () => {
    const path = await file();
    (await open(path)).database.close();
    const large = { wholeFileBytes: 1 };
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    onTestFinished(() => {
      prepare.mockRestore();
    });
    const checksHere = (): number => prepare.mock.calls.filter(([sql]) => sql.includes('quick_check')).length;
    const first = await open(path, { ...large, checkLarge: () => Promise.resolve({ kind: 'too_long' }) });
    expect([first.rebuilt, checksHere()]).toEqual([null, 0]);
    first.database.close();
    const second = await open(path, { ...large, checkLarge: () => Promise.resolve({ kind: 'failed' }) });
    expect([second.rebuilt, checksHere()]).toEqual([null, 1]);
  });

  it('tells how far the check is, and ends it at its limit', async () => {
    const path = await file();
    execFileSync('mkfifo', [path]);
    const clock = new FakeClock();
    const lines: object[] = [];
    const note = (fields: object): void => void lines.push(fields);
    const logger = { info: note, warn: note } as unknown as Logger;
    const check = checkLargeFile(path, 5, { clock, logger, signal: new AbortController().signal });
    for (let ms = 0; ms <= CHECK_TIMEOUT_MS; ms += 10_000) await clock.advance(10_000);
    expect(await check).toEqual({ kind: 'too_long' });
    expect(lines.slice(0, 2)).toEqual(
      [0, 10].map((seconds) => ({ path, bytes: 5, tables_checked: 0, seconds })),
    );
    expect(lines.at(-1)).toMatchObject({ seconds: CHECK_TIMEOUT_MS / 1000 });
  });
});

const FIRST = {
  version: 1,
  name: 'first',
  sql: 'CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT) STRICT;',
};
const SECOND = { version: 2, name: 'second', sql: 'ALTER TABLE note ADD COLUMN author TEXT;' };

describe('a database', () => {
  function open(path: string, migrations = [FIRST], applicationId = 77): Database {
    const database = openSqliteDatabase({ path, migrations, applicationId, rules: {} });
    onTestFinished(() => database.close());
    return database;
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
      rules: {},
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

  it('is not called sound when its file is gone while it is open', async () => {
    const path = await file();
    const database = open(path);
    await rm(path);
    await expect(database.checkStructure()).rejects.toThrow('unable to open database file');
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

  it('refuses a file from before the first step, and does not touch it', async () => {
    const path = await file();
    open(path).close();
    expect(() => open(path, [{ ...FIRST, version: 4 }])).toThrow(
      /before the first release \(schema 1, this daemon reads 4 and later\): start with an empty data folder/,
    );
    expect(open(path).schemaVersion).toBe(1);
  });
});
