import { stat } from 'node:fs/promises';
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
  /** Names of databases without a file. */
  readonly missing: readonly string[];
  readonly failed: readonly FailedDatabase[];
}

/** Looks at the files of the databases. */
export async function findSources(databases: readonly NamedDatabase[]): Promise<BackupSources> {
  const found: Array<NamedDatabase & { readonly bytes: number }> = [];
  const missing: string[] = [];
  const failed: FailedDatabase[] = [];
  for (const { name, path } of databases) {
    try {
      const file = await stat(path);
      if (file.isFile()) found.push({ name, path, bytes: file.size + (await logBytes(path)) });
      else failed.push({ name, reason: `${path} is not a regular file` });
    } catch (error) {
      if (errorCode(error) === 'ENOENT') missing.push(name);
      else failed.push({ name, reason: messageOf(error) });
    }
  }
  return { found, missing, failed };
}

/** The size of the write-ahead log, whose pages a copy includes. */
async function logBytes(path: string): Promise<number> {
  try {
    return (await stat(`${path}-wal`)).size;
  } catch {
    return 0;
  }
}
