import { existsSync } from 'node:fs';
import type { TaskContext } from '../../../src/engine/tasks/task.ts';
import { partial } from '../partial.ts';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { loadSigningKeys, loadTrustedKeys } from '../../../src/attestation/keys.ts';
import { runKeygen } from '../../../src/cli/keygen/keygen.ts';
import { listBackups } from '../../../src/daemon/backup/backup-list.ts';
import { openCopyThread } from '../../../src/daemon/backup/copy-database.ts';
import { restoreBackup } from '../../../src/daemon/backup/restore/restore-backup.ts';
import { writeBackup } from '../../../src/daemon/backup/write-backup.ts';
import { writeExport } from '../../../src/engine/exchange/write-export.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { makeKeys } from '../make-keys.ts';
import { startRecording } from './crash-recorder.ts';
import type { Scenario } from './explore.ts';

/** Said when the command has ended. */
type Done = 'done';

/** Scenarios of single commands and tasks, which have no database of their own. */
export async function recordFileScenarios(folder: string): Promise<ReadonlyArray<Scenario<Done>>> {
  return [
    await recordKeys(join(folder, 'keygen')),
    await recordBackup(join(folder, 'backup')),
    await recordRestore(join(folder, 'restore')),
    await recordExport(join(folder, 'export')),
  ];
}

async function recorded(
  name: string,
  folder: string,
  work: () => Promise<void>,
  check: Scenario<Done>['check'],
): Promise<Scenario<Done>> {
  const recording = startRecording<Done>(folder, null);
  await work();
  recording.fact('done');
  return { name, log: recording.stop(), database: '', same: new Map(), check };
}

async function recordKeys(folder: string): Promise<Scenario<Done>> {
  await mkdir(folder);
  return await recorded(
    'new keys',
    folder,
    async () => await makeKeys(join(folder, 'a/keys')),
    async (state, facts) => {
      const [privateFile, publicFile] = ['signing.key', 'signing.pub'].map((name) =>
        join(state, 'a/keys', name),
      );
      for (const [path = '', load] of [
        [privateFile, loadSigningKeys],
        [publicFile, loadTrustedKeys],
      ] as const) {
        const loaded = existsSync(path) ? await load([path]) : null;
        if (loaded === null && facts.length > 0) throw new Error('a key that was printed is lost');
        if (loaded?.ok === false) throw new Error(`a key is damaged: ${loaded.error.join('; ')}`);
      }
      const silent = { write: () => true };
      const code = await runKeygen(['--out', join(state, 'a/keys'), '--force'], {
        stdout: silent,
        stderr: silent,
      });
      if (code !== 0) throw new Error('new keys cannot be made');
    },
  );
}

function makeDatabase(path: string, rows: number): void {
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE work (id INTEGER PRIMARY KEY, text)');
  const insert = database.prepare('INSERT INTO work (text) VALUES (?)');
  for (let row = 0; row < rows; row += 1) insert.run(`row ${row}`);
  database.close();
}

/** The rows of a database; -1 when it is damaged. */
function rowsOf(path: string): number {
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      return Number(database.prepare('SELECT count(*) AS count FROM work').get()?.['count']);
    } finally {
      database.close();
    }
  } catch {
    return -1;
  }
}

const [OLD_ROWS, NEW_ROWS] = [3, 5];
const NOW = Date.UTC(2026, 2, 1, 3);

async function backUp(data: string, folder: string): Promise<void> {
  const pool = createHashPool({ threads: 1 });
  const thread = openCopyThread();
  try {
    const context = partial<TaskContext>({
      signal: new AbortController().signal,
      progress: () => undefined,
      commit: async <T>(section: () => Promise<T> | T): Promise<T> => await section(),
    });
    const databases = [{ name: 'memory', path: join(data, 'memory.db') }];
    const options = {
      databases,
      folder,
      keep: 2,
      pauseMs: 0,
      pool,
      thread: thread.calls,
      failpoints: noFailpoints,
    };
    const { name } = await writeBackup({ ...options, clock: new FakeClock(NOW) }, context);
    if (name === null) throw new Error('no backup was written');
  } finally {
    await thread.close();
    await pool.close();
  }
}

async function recordBackup(folder: string): Promise<Scenario<Done>> {
  await mkdir(join(folder, 'data'), { recursive: true });
  makeDatabase(join(folder, 'data/memory.db'), OLD_ROWS);
  return await recorded(
    'a first backup',
    folder,
    async () => await backUp(join(folder, 'data'), join(folder, 'backups')),
    async (state, facts) => {
      let count = 0;
      const backups = join(state, 'backups');
      for await (const { name } of listBackups(backups)) {
        count += 1;
        if (rowsOf(join(backups, name, 'memory.db')) !== OLD_ROWS)
          throw new Error(`the backup ${name} is damaged`);
      }
      if (count === 0 && facts.length > 0) throw new Error('a backup that was complete is lost');
      await backUp(join(state, 'data'), backups);
    },
  );
}

async function recordRestore(folder: string): Promise<Scenario<Done>> {
  const [data, backups] = [join(folder, 'data'), join(folder, 'backups')];
  await mkdir(data, { recursive: true });
  makeDatabase(join(data, 'memory.db'), NEW_ROWS);
  await backUp(data, backups);
  const [name = ''] = await readdir(backups);
  await mkdir(join(folder, 'target'));
  makeDatabase(join(folder, 'target/memory.db'), OLD_ROWS);
  const restore = async (base: string): Promise<void> => {
    const pool = createHashPool({ threads: 1 });
    const thread = openCopyThread();
    try {
      await restoreBackup(
        { from: join(base, 'backups', name), data: join(base, 'target'), databases: [], all: true },
        {
          pool,
          thread: thread.calls,
          now: new Date(NOW),
          failpoints: noFailpoints,
          signal: new AbortController().signal,
        },
      );
    } finally {
      await thread.close();
      await pool.close();
    }
  };
  return await recorded(
    'a restore',
    folder,
    async () => await restore(folder),
    async (state, facts) => {
      const target = join(state, 'target');
      const rows = rowsOf(join(target, 'memory.db'));
      if (rows !== NEW_ROWS && (rows !== OLD_ROWS || facts.length > 0))
        throw new Error(`the database has ${rows} rows`);
      if (
        !(await readdir(target)).some(
          (file) => file.startsWith('memory.db') && rowsOf(join(target, file)) === OLD_ROWS,
        )
      ) {
        throw new Error('the database that was replaced is lost');
      }
      await restore(state);
    },
  );
}

async function recordExport(folder: string): Promise<Scenario<Done>> {
  await mkdir(folder);
  const parts = ['first line\n', 'second line\n'];
  const write = async (base: string): Promise<void> => {
    const all = (async function* each() {
      yield* parts;
    })();
    await writeExport(join(base, 'exchange'), 'term/list.csv', all, new AbortController().signal);
  };
  return await recorded(
    'a file for translators',
    folder,
    async () => await write(folder),
    async (state, facts) => {
      const text = await readFile(join(state, 'exchange/term/list.csv'), 'utf8').catch(() => null);
      if (text === null && facts.length > 0) throw new Error('a file that was written is lost');
      if (text !== null && text !== parts.join('')) throw new Error('a file is damaged');
      await write(state);
    },
  );
}
