import { execFileSync } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAIN_MIGRATIONS } from '../../../../src/daemon/database/database.ts';
import { openMainDatabase, type MainDatabase } from '../../../../src/daemon/database/main-database.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

async function file(): Promise<string> {
  return join(await temporaryDirectory(), 'main.db');
}

function open(path: string, day = 1): MainDatabase {
  const opened = openMainDatabase(path, new Date(Date.UTC(2026, 0, day)));
  onTestFinished(() => opened.database.close());
  return opened;
}

async function kept(path: string): Promise<string[]> {
  return (await readdir(dirname(path)))
    .filter((name) => name.startsWith(`${basename(path)}.damaged-`))
    .sort();
}

describe('the main database', () => {
  it('is opened as it is when it is sound', async () => {
    const path = await file();
    open(path).database.close();
    expect(open(path).rebuilt).toBeNull();
    expect(await kept(path)).toEqual([]);
  });

  it('is replaced by an empty one when it is damaged; the damaged file is kept aside', async () => {
    const path = await file();
    const damage = 'not a database at all, but long enough to look at'.repeat(40);
    await writeFile(path, damage);
    const { database, rebuilt } = open(path);
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
    const { database, rebuilt } = open(path);
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
      open(path, day).database.close();
    }
    expect(await kept(path)).toEqual([3, 4, 5].map((day) => `main.db.damaged-2026-01-0${day}T00-00-00.000Z`));
  });

  it('is not replaced when it is of a newer version or of another program', async () => {
    const path = await file();
    const foreign = new DatabaseSync(path);
    foreign.exec('CREATE TABLE theirs (id INTEGER)');
    foreign.close();
    expect(() => open(path)).toThrow('another program');
    const newer = await file();
    const { database } = open(newer);
    database.prepare('PRAGMA user_version = 999').get();
    database.close();
    expect(() => open(newer)).toThrow('newer daemon');
    expect([...(await kept(path)), ...(await kept(newer))]).toEqual([]);
  });
});
