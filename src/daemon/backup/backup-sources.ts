import { stat } from 'node:fs/promises';
import { wasNeverMade } from '../../engine/database/work-file.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { messageOf } from '../../platform/errors.ts';

/** A database that holds human work. */
export interface NamedDatabase {
  /** In lower case, such as `memory`. */
  readonly name: string;
  /** Its file is called `NAME.db`, so that a restore knows where the copy belongs. */
  readonly path: string;
}

/** A database that could not be copied, and why. */
export interface FailedDatabase {
  readonly name: string;
  readonly reason: string;
}

/** The databases by the state of their files. */
export interface BackupSources {
  readonly found: ReadonlyArray<NamedDatabase & { readonly bytes: number }>;
  /** Names of databases that nobody has used yet, so that there is nothing to copy. */
  readonly neverUsed: readonly string[];
  readonly failed: readonly FailedDatabase[];
}

/** Looks at the files of the databases. */
export async function findSources(databases: readonly NamedDatabase[]): Promise<BackupSources> {
  const found: Array<NamedDatabase & { readonly bytes: number }> = [];
  const neverUsed: string[] = [];
  const failed: FailedDatabase[] = [];
  for (const { name, path } of databases) {
    if (wasNeverMade(path)) {
      neverUsed.push(name);
      continue;
    }
    try {
      const file = await stat(path);
      if (file.isFile()) found.push({ name, path, bytes: file.size + (await logBytes(path)) });
      else failed.push({ name, reason: `${path} is not a regular file` });
    } catch (error) {
      const isLost = errorCode(error) === 'ENOENT';
      failed.push({
        name,
        reason: isLost ? `${path} was there before and is missing now` : messageOf(error),
      });
    }
  }
  return { found, neverUsed, failed };
}

/** The size of the write-ahead log, whose pages a copy includes. */
async function logBytes(path: string): Promise<number> {
  try {
    return (await stat(`${path}-wal`)).size;
  } catch {
    return 0;
  }
}
