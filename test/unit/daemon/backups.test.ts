import type { KindHistory } from '../../../src/engine/tasks/task-reads.ts';
import { partial } from '../../support/partial.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { backupFinding, type BackupFacts } from '../../../src/daemon/backup/backup-check.ts';
import { backupTaskError } from '../../../src/daemon/backup/backup-error.ts';
import { newestComplete, type StoredBackup } from '../../../src/daemon/backup/backup-list.ts';
import { readManifest } from '../../../src/daemon/backup/backup-manifest.ts';
import { createStore } from '../../../src/daemon/backup/copy-worker.ts';
import { BACKUP_FAILPOINTS, oldBackups } from '../../../src/daemon/backup/write-backup.ts';
import { RESTORE_FAILPOINTS } from '../../../src/daemon/backup/restore/restore-backup.ts';
import { runRestore } from '../../../src/daemon/backup/restore/run-restore.ts';

import { acquireDataLock } from '../../../src/engine/database/data-lock.ts';
import type { Task } from '../../../src/engine/tasks/task.ts';
import { systemClock as clock } from '../../../src/platform/process/clock.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import {
  addRows,
  backupWorld,
  countRows,
  damagePages,
  isWhole,
  NAMES,
  type BackupWorld,
} from '../../support/backups.ts';

const CHILD = resolve(import.meta.dirname, '../../support/backup-child.ts');

describe('the writer of backups', () => {
  describe('a backup', () => {
    it('has every database with all committed rows, each as one file, for its owner alone', async () => {
      const world = await backupWorld(500);
      const open = new DatabaseSync(world.path('memory'));
      open.exec(`INSERT INTO work (text) VALUES ('only in the log')`);
      const { name, copies, neverUsed, failed } = await world.backUp();
      open.close();
      const folder = join(world.folder, name ?? '');
      expect([neverUsed, failed]).toEqual([[], []]);
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
      await createStore().copy(
        { source: path, target, pauseMs: 0 },
        partial({
          isWanted: () => {
            add.run();
            steps += 1;
            return steps < 1000;
          },
        }),
      );
      writer.close();
      expect(steps).toBeGreaterThan(2);
      expect(steps).toBeLessThan(100);
      expect(countRows(target)).toBe(20_000);
      expect(countRows(path)).toBe(20_000 + steps);
    });

    it('names unused and damaged databases, copies the rest, and keeps all good copies of the damaged one', async () => {
      const world = await backupWorld();
      await world.backUp({ keep: 1 });
      const good = await world.backUp({ keep: 1 });
      damagePages(world.path('glossary'));
      await rm(world.path('translation'));
      const bad = await world.backUp({ keep: 1 });
      const worse = await world.backUp({ keep: 1 });
      expect(worse).toMatchObject({
        neverUsed: ['translation'],
        failed: [{ name: 'glossary' }],
        removed: [bad.name],
      });
      expect(worse.failed[0]?.reason).toContain('glossary.db');
      expect(worse.copies.map((copy) => copy.name)).toEqual(['memory']);
      expect(await world.names()).toEqual([good.name, worse.name]);
      expect(await isWhole(join(world.folder, good.name ?? ''))).toBe(true);
    });

    it('is not complete when a database is gone that was there before', async () => {
      const world = await backupWorld(1);
      await rm(world.path('memory'));
      await writeFile(join(world.data, '.memory.db.created'), '');
      expect(await world.backUp()).toMatchObject({
        neverUsed: [],
        failed: [{ name: 'memory', reason: `${world.path('memory')} was there before and is missing now` }],
      });
      expect(await newestComplete(world.folder)).toBeNull();
    });

    it.each([
      ['an empty file, which is an empty database', '', []],
      ['a file that is not a database', 'text that is not a database', ['memory']],
    ])('of %s names it when it cannot be copied', async (_what, content, expected) => {
      const world = await backupWorld(1);
      for (const suffix of ['', '-wal', '-shm'])
        await rm(`${world.path('memory')}${suffix}`, { force: true });
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
      expect(await world.backUp({ folder })).toMatchObject({ name: null, neverUsed: NAMES });
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
});

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function restore(argv: readonly string[]): Promise<Run> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runRestore(argv, {
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    clock,
    signal: new AbortController().signal,
  });
  return { code, out: out.join(''), err: err.join('') };
}

/** A world with one backup, and the options that restore it. */
async function backedUp(): Promise<
  BackupWorld & { readonly from: string; readonly options: readonly string[] }
> {
  const world = await backupWorld(200);
  const from = join(world.folder, (await world.backUp()).name ?? '');
  return { ...world, from, options: ['--from', from, '--data', world.data] };
}

/** The bytes of the databases in a data folder, without those of the lock. */
async function bytesOf(data: string): Promise<Record<string, string>> {
  const files = (await readdir(data)).filter((name) => !name.startsWith('daemon.')).toSorted();
  return Object.fromEntries(
    await Promise.all(
      files.map(async (name) => [name, (await readFile(join(data, name))).toString('base64')]),
    ),
  ) as Record<string, string>;
}

describe('slipway restore', () => {
  it.each(NAMES)(
    'brings back every row of a damaged %s.db, and keeps the damaged file and its log',
    async (name) => {
      const { path, options, data } = await backedUp();
      const others = NAMES.filter((each) => each !== name);
      for (const other of others) addRows(path(other), 7);
      // A log that a killed daemon left. SQLite would apply it to the restored file.
      const killed = new DatabaseSync(path(name));
      killed.exec(`INSERT INTO work (text) VALUES ('after the backup')`);
      const log = await readFile(`${path(name)}-wal`);
      killed.close();
      await writeFile(`${path(name)}-wal`, log);
      damagePages(path(name));
      const damaged = await readFile(path(name));
      expect(await restore([...options, '--database', name])).toMatchObject({
        code: 0,
        out: expect.stringMatching(
          new RegExp(`^${name}: restored, \\d+ bytes; the file before is `),
        ) as unknown,
      });
      expect(countRows(path(name))).toBe(200);
      for (const other of others) expect(countRows(path(other))).toBe(207);
      const kept = (await readdir(data)).find((file) => /^\w+\.db\.damaged-[\dTZ.-]+Z$/.test(file)) ?? '';
      expect(await readFile(join(data, kept))).toEqual(damaged);
      expect(await readFile(join(data, `${kept}-wal`))).toEqual(log);
    },
  );

  it('restores all databases into an empty data folder, and again over existing files', async () => {
    const { from, data, path, options } = await backedUp();
    const empty = join(data, 'empty');
    await mkdir(empty);
    expect((await restore(['--from', from, '--data', empty])).code).toBe(0);
    expect(NAMES.map((name) => countRows(join(empty, `${name}.db`)))).toEqual([200, 200, 200]);
    addRows(path('memory'), 1);
    expect((await restore([...options, '--all'])).code).toBe(0);
    expect(countRows(path('memory'))).toBe(200);
    addRows(path('memory'), 1);
    expect(countRows(path('memory'))).toBe(201);
  });

  it('leaves sound databases as they are unless they are named', async () => {
    const { path, options } = await backedUp();
    for (const name of ['memory', 'glossary']) addRows(path(name), 7);
    // SQLite opens an empty file as a sound database.
    await writeFile(path('translation'), '');
    await rm(path('translation') + '-wal', { force: true });
    const { code, out } = await restore(options);
    expect(code).toBe(0);
    expect(out).toContain('translation: restored');
    expect(out).toContain('memory: sound, left as it is');
    expect(NAMES.map((name) => countRows(path(name)))).toEqual([207, 207, 200]);
    damagePages(path('memory'));
    expect((await restore(options)).out).toContain('memory: restored');
    expect(NAMES.map((name) => countRows(path(name)))).toEqual([200, 207, 200]);
  });

  it('says which databases nobody had used yet when the backup was made, and leaves what they hold now', async () => {
    const world = await backupWorld(200);
    for (const name of ['memory', 'glossary']) await rm(world.path(name));
    const from = join(world.folder, (await world.backUp()).name ?? '');
    expect(await newestComplete(world.folder)).toMatchObject({ name: basename(from) });
    addRows(world.path('memory'), 7);
    damagePages(world.path('translation'));
    const options = ['--from', from, '--data', world.data];
    const { code, out } = await restore(options);
    expect([code, out.replace(/, .*/, '')]).toEqual([
      0,
      [
        'translation: restored',
        'memory: nobody had used it yet when the backup was made; nothing to restore',
        'glossary: nobody had used it yet when the backup was made; nothing to restore',
        '',
      ].join('\n'),
    ]);
    expect(['memory', 'translation'].map((name) => countRows(world.path(name)))).toEqual([7, 200]);
    await expect(stat(world.path('glossary'))).rejects.toThrow('ENOENT');
    expect(await restore([...options, '--database', 'glossary'])).toMatchObject({
      code: 1,
      err: `slipway restore: ${from} has no copy of glossary; when it was made, nobody had used glossary yet; it has: translation\n`,
    });
  });

  it('fails when a database is lost that this backup is too old for', async () => {
    const world = await backupWorld(200);
    await rm(world.path('memory'));
    const from = join(world.folder, (await world.backUp()).name ?? '');
    await writeFile(join(world.data, '.memory.db.created'), '');
    expect(await restore(['--from', from, '--data', world.data])).toMatchObject({
      code: 1,
      out: expect.not.stringContaining('memory') as unknown,
      err: expect.stringContaining('memory is lost') as unknown,
    });
  });

  it('refuses while a daemon holds the data folder', async () => {
    const { data, options } = await backedUp();
    const lock = acquireDataLock(data, new Date());
    const before = await bytesOf(data);
    const { code, err } = await restore(options);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /: a daemon \(pid [^)]+\) uses [^;]+; stop it and its supervisor first; nothing was changed\n$/,
      ),
    ]);
    lock.release();
    expect(await bytesOf(data)).toEqual(before);
    expect((await restore(options)).code).toBe(0);
  });

  it('changes nothing when the backup is damaged, and names every damaged file', async () => {
    const { from, data, options } = await backedUp();
    damagePages(join(from, 'memory.db'));
    await rm(join(from, 'translation.db'));
    const before = await bytesOf(data);
    const { code, err } = await restore(options);
    expect(code).toBe(1);
    expect(err).toContain('memory.db is not what the manifest describes');
    expect(err).toContain('translation.db cannot be read');
    expect(await bytesOf(data)).toEqual(before);
    expect((await restore([...options, '--database', 'glossary'])).code).toBe(0);
  });

  it('explains wrong arguments', async () => {
    const { from, data, folder, options } = await backedUp();
    const outcomes = [
      await restore(['--from', from]),
      await restore(['--data', data]),
      await restore(['--colour', 'blue']),
      await restore(['--help']),
      await restore(['--from', folder, '--data', data]),
      await restore(['--from', from, '--data', join(data, 'nowhere')]),
      await restore([...options, '--database', 'main']),
    ];
    expect(outcomes.map(({ code }) => code)).toEqual([2, 2, 2, 0, 1, 1, 1]);
    expect(outcomes[4]?.err).toContain('the newest is backup-');
    expect(outcomes[5]?.err).toContain('does not exist');
    expect(outcomes[6]?.err).toContain('it has: memory, glossary, translation');
  });

  it('refuses a folder that is in use for something else: the daemon would never read the copies', async () => {
    const { from, data } = await backedUp();
    const parent = join(data, 'parent');
    await mkdir(join(parent, 'daemon'), { recursive: true });
    await writeFile(join(parent, 'daemon.yaml'), '');
    const { code, err } = await restore(['--from', from, '--data', parent]);
    expect([code, err]).toEqual([1, expect.stringContaining('has files, but no database of a daemon')]);
    expect(await readdir(parent)).toEqual(['daemon', 'daemon.yaml']);
    // Only the backups are left of this one.
    const lost = join(data, 'lost');
    await mkdir(join(lost, 'backups'), { recursive: true });
    expect((await restore(['--from', from, '--data', lost])).code).toBe(0);
  });

  it.each(RESTORE_FAILPOINTS)(
    'that is killed at %s leaves sound databases, and can be run again',
    async (place) => {
      const { from, data, path, options } = await backedUp();
      for (const name of NAMES) addRows(path(name), 3);
      const child = spawn(process.execPath, [CHILD, 'restore', data, from, place], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
      for (const name of NAMES) expect([200, 203]).toContain(countRows(path(name)));
      expect((await restore([...options, '--all'])).code).toBe(0);
      expect(NAMES.map((name) => countRows(path(name)))).toEqual([200, 200, 200]);
      expect((await readdir(data)).filter((name) => name.endsWith('.restore'))).toEqual([]);
    },
  );
});

const NOW = 1_700_000_000;
const FACTS: BackupFacts = {
  isNeeded: true,
  folder: '/backups',
  newest: { name: 'backup-a', created_at: NOW - 7200, bytes: 10 },
  history: partial({ last: null, consecutiveFailures: 0, failingSince: null }),
  intervalSeconds: 86_400,
  plannedAt: NOW + 60,
  now: NOW,
};
const FAILED: KindHistory = partial({
  last: { failure_code: 'backup_no_space', failure_reason: 'full' } as Task,
  consecutiveFailures: 1,
  failingSince: NOW - 5,
});

describe('the doctor and backups', () => {
  describe('the check of backups', () => {
    it.each([
      ['a fresh one', {}, 'ok', 'backup-a of 2023-11-14T20:13:20Z, 2 hours ago'],
      [
        'one of the future',
        { newest: { name: 'backup-a', created_at: NOW + 3600, bytes: 10 } },
        'degraded',
        'dated in the future, so its age is not known',
      ],
      ['nothing to copy', { isNeeded: false, newest: null }, 'ok', 'no database to back up yet'],
      ['none yet', { newest: null }, 'ok', 'the next one is planned for 2023-11-14T22:14:20Z'],
      ['none planned', { newest: null, plannedAt: null }, 'degraded', 'none is planned'],
      ['no schedule by choice', { newest: null, intervalSeconds: 0 }, 'ok', 'backup.intervalSeconds is 0'],
      ['an old one', { now: NOW + 2 * 86_400 }, 'degraded', '50 hours ago, older than two intervals'],
      ['an old one without a schedule', { now: NOW + 2 * 86_400, intervalSeconds: 0 }, 'ok', '50 hours ago'],
      [
        'a failure',
        { history: FAILED },
        'degraded',
        'the last backup failed: backup_no_space: full; the newest complete backup is backup-a',
      ],
      [
        'a failure without a backup',
        { newest: null, history: FAILED },
        'degraded',
        'there is no complete backup',
      ],
    ] as const)('judges %s', (_name, over, status, message) => {
      const finding = backupFinding({ ...FACTS, ...over });
      expect(finding).toMatchObject({ status, message: expect.stringContaining(message) as unknown });
      if ('history' in over) expect(finding.since).toBe(NOW - 5);
      const isJudged = status === 'degraded' || !('newest' in over);
      expect(finding.evaluated ?? true).toBe(isJudged);
    });
  });

  describe('old backups', () => {
    const stored = (name: string, databases: string): StoredBackup => ({
      name,
      manifest: {
        format: 'slipway-backup/1',
        created_at: NOW,
        databases: databases
          .split('')
          .map((each) => ({ name: each, file: `${each}.db`, bytes: 1, blake3: '' })),
        missing: [],
        failed: [],
      },
    });

    it.each([
      [1, ['a:m'], []],
      [1, ['c:mg', 'b:mg', 'a:mg'], ['a', 'b']],
      [2, ['c:mg', 'b:mg', 'a:mg'], ['a']],
      [1, ['d:m', 'c:m', 'b:mg', 'a:mg'], ['a', 'c']],
      [2, ['d:m', 'c:g', 'b:g', 'a:m'], []],
    ] as const)('beyond %i copies of each database of %j are %j', (keep, rows, expected) => {
      const backups = rows.map((row) => stored(row.slice(0, 1), row.slice(2)));
      expect(oldBackups(backups, keep)).toEqual(expected);
    });
  });
});
