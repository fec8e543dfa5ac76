import { backup, DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../platform/errors.ts';
import type { CallContext } from '../../platform/threads/serve.ts';
import { StructureStore } from '../../engine/database/structure-worker.ts';
import { COPY_ERRORS } from './backup-error.ts';
import { DATA_FULL, isDatabaseDamage, storageFailureOf } from '../../engine/database/storage-failure.ts';

/** Pages of 4 KiB that one step copies. */
const STEP_PAGES = 256;

const BUSY_TIMEOUT_MS = 5000;

/** What to copy. */
interface CopyRequest {
  /** The database. It may be in use. */
  readonly source: string;
  /** The new file. */
  readonly target: string;
  /** Milliseconds between two steps, which leave the disk to others. */
  readonly pauseMs: number;
}

/** Copies and checks databases. */
export class CopyStore extends StructureStore {
  /**
   * Copies the database as it is when the call begins. The copy is one file, without a log beside it.
   *
   * @throws Error with one of {@link COPY_ERRORS} as its code
   */
  async copy(request: CopyRequest, { isWanted }: CallContext): Promise<void> {
    try {
      await copySnapshot(request, isWanted);
      makeSingleFile(request.target);
    } catch (error) {
      throw Object.assign(new Error(messageOf(error), { cause: error }), { code: codeOf(error) });
    }
  }
}

export function createStore(): CopyStore {
  return new CopyStore();
}

async function copySnapshot(
  { source, target, pauseMs }: CopyRequest,
  isWanted: () => boolean,
): Promise<void> {
  const raw = new DatabaseSync(source, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    // Without a read transaction of its own, SQLite begins the copy again with every write of another connection.
    // Source: sqlite.org/c3ref/backup_finish.html, "sqlite3_backup_step".
    raw.exec('BEGIN');
    raw.prepare('SELECT count(*) FROM sqlite_schema').get();
    const cell = new Int32Array(new SharedArrayBuffer(4));
    await backup(raw, target, {
      rate: STEP_PAGES,
      progress: () => {
        Atomics.wait(cell, 0, 0, pauseMs);
        // SQLite ends the copy when this throws.
        if (!isWanted()) throw new Error('the backup was cancelled');
      },
    });
  } finally {
    raw.close();
  }
}

/** The copy of a database with a write-ahead log would need a log of its own, also for reading. */
function makeSingleFile(path: string): void {
  const copy = new DatabaseSync(path);
  try {
    copy.exec('PRAGMA journal_mode = DELETE');
  } finally {
    copy.close();
  }
}

function codeOf(error: unknown): string {
  if (isDatabaseDamage(error)) return COPY_ERRORS.damaged;
  return storageFailureOf(error)?.code === DATA_FULL.code ? COPY_ERRORS.noSpace : COPY_ERRORS.failed;
}
