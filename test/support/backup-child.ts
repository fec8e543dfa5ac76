/**
 * One backup or one restore, killed with SIGKILL at a failpoint:
 *
 *   node test/support/backup-child.ts backup DATA FOLDER FAILPOINT KEEP
 *   node test/support/backup-child.ts restore DATA BACKUP FAILPOINT
 */
import { partial } from './partial.ts';
import process from 'node:process';
import { humanDatabases } from '../../src/daemon/backup/backup.ts';
import { openCopyThread } from '../../src/daemon/backup/copy-database.ts';
import { restoreBackup } from '../../src/daemon/backup/restore/restore-backup.ts';
import { writeBackup } from '../../src/daemon/backup/write-backup.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { systemClock as clock } from '../../src/platform/process/clock.ts';

const [mode = '', data = '', folder = '', failpoint = '', keep = '1'] = process.argv.slice(2);
const { signal } = new AbortController();
const pool = createHashPool({ threads: 1 });
const thread = openCopyThread();
const failpoints = {
  hit: (name: string) => {
    if (name === failpoint) process.kill(process.pid, 'SIGKILL');
  },
};
if (mode === 'backup') {
  await writeBackup(
    {
      databases: humanDatabases(data),
      folder,
      keep: Number(keep),
      clock,
      failpoints,
      thread: thread.calls,
      pool,
      pauseMs: 0,
    },
    partial({ signal, progress: () => undefined, commit: async (section) => await section() }),
  );
} else {
  await restoreBackup(
    { from: folder, data, databases: [], all: true },
    { pool, thread: thread.calls, now: new Date(), failpoints, signal },
  );
}
throw new Error('the failpoint was not reached');
