import { execFileSync } from 'node:child_process';
import { copyFile, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MAIN_MIGRATIONS } from '../../../../src/daemon/database/database.ts';
import { checkLargeFile, CHECK_TIMEOUT_MS } from '../../../../src/daemon/database/check-large-file.ts';
import {
  openMainDatabase,
  type MainDatabase,
  type OpenMainOptions,
} from '../../../../src/daemon/database/main-database.ts';
import { createSilentLogger, type Logger } from '../../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { childrenOf } from '../../../support/process-figures.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

async function file(): Promise<string> {
  return join(await temporaryDirectory(), 'main.db');
}

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
    ...options,
  });
  onTestFinished(() => opened.database.close());
  return opened;
}

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
    expect(database.schemaVersion).toBe(MAIN_MIGRATIONS.length);
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

  it('is not opened when the daemon stops during its check', async () => {
    const path = await file();
    const stopped = AbortSignal.abort(new Error('the daemon is stopping'));
    const calm = { clock: systemClock, logger: createSilentLogger() };
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
