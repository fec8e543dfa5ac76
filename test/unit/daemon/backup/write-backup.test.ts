import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { backupTaskError } from '../../../../src/daemon/backup/backup-error.ts';
import { readManifest } from '../../../../src/daemon/backup/backup-manifest.ts';
import { createCalls } from '../../../../src/daemon/backup/copy-worker.ts';
import { BACKUP_FAILPOINTS } from '../../../../src/daemon/backup/write-backup.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { addRows, backupWorld, countRows, damagePages, isWhole, NAMES } from '../../../support/backups.ts';

const CHILD = resolve(import.meta.dirname, '../../../support/backup-child.ts');

describe('a backup', () => {
  it('has every database with all committed rows, each as one file, for its owner alone', async () => {
    const world = await backupWorld(500);
    const open = new DatabaseSync(world.path('memory'));
    open.exec(`INSERT INTO work (text) VALUES ('only in the log')`);
    const { name, copies, missing, failed } = await world.backUp();
    open.close();
    const folder = join(world.folder, name ?? '');
    expect([missing, failed]).toEqual([[], []]);
    expect(copies.map((copy) => copy.name)).toEqual(NAMES);
    expect(NAMES.map((each) => countRows(join(folder, `${each}.db`)))).toEqual([501, 500, 500]);
    expect(await isWhole(folder)).toBe(true);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, 'memory.db'))).mode & 0o777).toBe(0o600);
    expect(await world.names()).toEqual([name]);
  });

  it('ends while others write without a pause, and holds one moment of the database', async () => {
    const world = await backupWorld(20_000);
    const path = world.path('memory');
    const writer = new DatabaseSync(path);
    const add = writer.prepare(`INSERT INTO work (text) VALUES ('later')`);
    const target = join(world.data, 'copy.db');
    let steps = 0;
    await createCalls().copy(
      { source: path, target, pauseMs: 0 },
      {
        isWanted: () => {
          add.run();
          steps += 1;
          return steps < 1000;
        },
      },
    );
    writer.close();
    expect(steps).toBeGreaterThan(2);
    expect(steps).toBeLessThan(100);
    expect(countRows(target)).toBe(20_000);
    expect(countRows(path)).toBe(20_000 + steps);
  });

  it('names missing and damaged databases, copies the rest, and keeps all good copies of the damaged one', async () => {
    const world = await backupWorld();
    await world.backUp({ keep: 1 });
    const good = await world.backUp({ keep: 1 });
    damagePages(world.path('glossary'));
    await rm(world.path('translation'));
    const bad = await world.backUp({ keep: 1 });
    const worse = await world.backUp({ keep: 1 });
    expect(worse).toMatchObject({
      missing: ['translation'],
      failed: [{ name: 'glossary' }],
      removed: [bad.name],
    });
    expect(worse.failed[0]?.reason).toContain('glossary.db');
    expect(worse.copies.map((copy) => copy.name)).toEqual(['memory']);
    expect(await world.names()).toEqual([good.name, worse.name]);
    expect(await isWhole(join(world.folder, good.name ?? ''))).toBe(true);
  });

  it.each([
    ['an empty file, which is an empty database', '', []],
    ['a file that is not a database', 'text that is not a database', ['memory']],
  ])('of %s names it when it cannot be copied', async (_what, content, expected) => {
    const world = await backupWorld(1);
    for (const suffix of ['', '-wal', '-shm']) await rm(`${world.path('memory')}${suffix}`, { force: true });
    await writeFile(world.path('memory'), content);
    const { failed } = await world.backUp();
    expect(failed.map(({ name }) => name)).toEqual(expected);
  });

  it('leaves nothing when no database can be copied, and makes no folder when there is none', async () => {
    const world = await backupWorld();
    for (const name of NAMES) damagePages(world.path(name));
    expect(await world.backUp()).toMatchObject({ name: null, copies: [] });
    expect(await world.names()).toEqual([]);
    for (const name of NAMES) await rm(world.path(name));
    const folder = join(world.data, 'never');
    expect(await world.backUp({ folder })).toMatchObject({ name: null, missing: NAMES });
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  it('keeps the newest ones, also when the clock was set back, and removes what a crash left', async () => {
    const world = await backupWorld();
    const first = await world.backUp({ keep: 2 });
    await mkdir(join(world.folder, 'backup-2026-01-01T00-00-00.000Z.partial'));
    await writeFile(join(world.folder, 'notes.txt'), 'of a person');
    const second = await world.backUp({ keep: 2 });
    const third = await world.backUp({ keep: 2, clock: new FakeClock(1000) });
    expect(third.removed).toEqual([first.name]);
    expect(await world.names()).toEqual([second.name, third.name, 'notes.txt']);
  });

  it('does not begin without room, and leaves nothing when the volume fills up on the way', async () => {
    const world = await backupWorld();
    const before = await world.backUp();
    const look = async (): Promise<{ bavail: number; bsize: number }> => ({ bavail: 1024, bsize: 4096 });
    await expect(world.backUp({ look })).rejects.toMatchObject({
      code: 'backup_no_space',
      message: expect.stringContaining('4194304 free bytes') as unknown,
    });
    for (const place of BACKUP_FAILPOINTS.slice(0, 3)) {
      const failpoints = {
        hit: (name: string) => {
          if (name === place) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
        },
      };
      const error: unknown = await world.backUp({ failpoints }).catch((caught: unknown) => caught);
      expect(backupTaskError(world.folder, error)).toMatchObject({ code: 'backup_no_space' });
      expect(await world.names()).toEqual([before.name]);
    }
    expect(await isWhole(join(world.folder, before.name ?? ''))).toBe(true);
  });

  it('that is cancelled leaves nothing', async () => {
    const world = await backupWorld();
    const ended = new AbortController();
    const failpoints = { hit: () => ended.abort(new Error('stopped')) };
    await expect(world.backUp({ failpoints }, ended.signal)).rejects.toThrow('stopped');
    expect(await world.names()).toEqual([]);
  });

  it.each(BACKUP_FAILPOINTS)(
    'that is killed at %s leaves whole backups, and the next one is clean',
    async (place) => {
      const world = await backupWorld();
      const older = [await world.backUp(), await world.backUp()].map(({ name }) => name ?? '');
      const args = [CHILD, 'backup', world.data, world.folder, place, '2'];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
      expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
      const complete = (await world.names()).filter((name) => !name.endsWith('.partial'));
      expect(complete).toEqual(expect.arrayContaining(older.slice(1)));
      for (const name of complete) expect(await isWhole(join(world.folder, name))).toBe(true);
      const { name: next } = await world.backUp({ keep: 1 });
      expect(await world.names()).toEqual([next]);
    },
  );
});

describe('the manifest of a backup', () => {
  it.each([
    ['{"format":"slipway-backup/2"}', 'damaged'],
    ['{', 'cannot be read'],
    [
      JSON.stringify({ format: 'slipway-backup/1', created_at: 1, databases: [], missing: [], failed: [] }),
      'damaged',
    ],
    [
      JSON.stringify({
        format: 'slipway-backup/1',
        created_at: 1,
        databases: [{ name: 'memory', file: '../main.db', bytes: 1, blake3: 'a'.repeat(64) }],
        missing: [],
        failed: [],
      }),
      'databases.0.file',
    ],
    [' '.repeat(70_000), 'larger than'],
  ])('is refused: row %#', async (text, expected) => {
    const { data } = await backupWorld(1);
    await writeFile(join(data, 'backup.json'), text);
    expect(await readManifest(data)).toMatchObject({
      ok: false,
      error: expect.stringContaining(expected) as unknown,
    });
  });
});

it('rows that are added after a backup are in the next one', async () => {
  const world = await backupWorld(10);
  await world.backUp();
  addRows(world.path('memory'), 5);
  const { name } = await world.backUp();
  expect(countRows(join(world.folder, name ?? '', 'memory.db'))).toBe(15);
});
