import { partial } from './partial.ts';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { humanDatabases } from '../../src/daemon/backup/backup.ts';
import { readManifest } from '../../src/daemon/backup/backup-manifest.ts';
import { openCopyThread } from '../../src/daemon/backup/copy-database.ts';
import { writeBackup, type BackupOptions, type WrittenBackup } from '../../src/daemon/backup/write-backup.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The names of the databases that hold human work. */
export const NAMES = ['memory', 'glossary', 'translation'] as const;

/** Adds rows to a database as a part of the daemon does, and makes the file when it is missing. */
export function addRows(path: string, count: number): void {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS work (id INTEGER PRIMARY KEY, text)');
  const insert = database.prepare('INSERT INTO work (text) VALUES (?)');
  database.exec('BEGIN');
  for (let row = 0; row < count; row += 1) insert.run(`${'訳'.repeat(60)} ${row}`);
  database.exec('COMMIT');
  database.close();
}

/** The number of rows in a database, read from one file without a log. */
export function countRows(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(database.prepare('SELECT count(*) AS count FROM work').get()?.['count']);
  } finally {
    database.close();
  }
}

/** Writes garbage over pages in the middle of a file; its header stays sound. */
export function damagePages(path: string): void {
  const fd = openSync(path, 'r+');
  for (let page = 1; page < 6; page += 1) writeSync(fd, Buffer.alloc(4096, 0x5a), 0, 4096, page * 4096);
  closeSync(fd);
}

/** A data folder with its backups. */
export interface BackupWorld {
  readonly data: string;
  readonly folder: string;
  readonly clock: FakeClock;
  /** The path of a database. */
  readonly path: (name: string) => string;
  readonly backUp: (over?: Partial<BackupOptions>, signal?: AbortSignal) => Promise<WrittenBackup>;
  /** Names of all that is in the folder of the backups. */
  readonly names: () => Promise<readonly string[]>;
}

/** Makes a data folder with three databases of some rows. */
export async function backupWorld(rows = 500): Promise<BackupWorld> {
  const root = await temporaryDirectory();
  const [data, folder] = [join(root, 'data'), join(root, 'backups')];
  await mkdir(data);
  const databases = humanDatabases(data);
  for (const { path } of databases) addRows(path, rows);
  const clock = new FakeClock();
  const pool = createHashPool({ threads: 1 });
  const thread = openCopyThread();
  onTestFinished(async () => {
    await thread.close();
    await pool.close();
  });
  return {
    data,
    folder,
    clock,
    path: (name) => join(data, `${name}.db`),
    backUp: async (over = {}, signal = new AbortController().signal) => {
      await clock.advance(1000);
      return await writeBackup(
        {
          databases,
          folder,
          keep: 7,
          clock,
          failpoints: { hit: () => undefined },
          thread: thread.calls,
          pool,
          pauseMs: 0,
          ...over,
        },
        partial({ signal, progress: () => undefined, commit: async (section) => await section() }),
      );
    },
    names: async () => (await readdir(folder)).toSorted(),
  };
}

/** The digests that the manifest of a backup states, after a comparison with the bytes that are there. */
export async function isWhole(folder: string): Promise<boolean> {
  const manifest = await readManifest(folder);
  if (!manifest.ok) return false;
  for (const { file, bytes } of manifest.value.databases) {
    if ((await readFile(join(folder, file))).length !== bytes) return false;
    countRows(join(folder, file));
  }
  return true;
}
