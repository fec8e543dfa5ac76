import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { runRestore } from '../../../../src/daemon/backup/restore/run-restore.ts';
import { RESTORE_FAILPOINTS } from '../../../../src/daemon/backup/restore/restore-backup.ts';
import { acquireDataLock } from '../../../../src/daemon/database/data-lock.ts';
import { systemClock as clock } from '../../../../src/platform/process/clock.ts';
import {
  addRows,
  backupWorld,
  countRows,
  damagePages,
  NAMES,
  type BackupWorld,
} from '../../../support/backups.ts';

const CHILD = resolve(import.meta.dirname, '../../../support/backup-child.ts');

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
