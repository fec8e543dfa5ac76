import { DatabaseSync } from 'node:sqlite';
import { prepareChecked, type Statement } from '../engine/database/checked-rows.ts';
import type { TableRules } from '../engine/database/column-rules.ts';
import { DatabaseError, ForeignDatabaseError } from '../engine/database/database-error.ts';
import { versionOf, type Migration } from '../engine/database/migrate.ts';
import { describeStorageError } from '../engine/database/storage-failure.ts';

/** A database that can be read. */
export interface ReadableDatabase {
  prepare(sql: string): Statement;
  close(): void;
}

const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens a file beside the daemon's own one to read it. It must have the current schema, because nothing is written to it.
 *
 * @param kind.name as in "the Glossary"
 * @throws DatabaseError
 */
export function openOtherDatabase(
  path: string,
  kind: {
    readonly name: string;
    readonly applicationId: number;
    readonly migrations: readonly Migration[];
    readonly rules: TableRules;
  },
): ReadableDatabase {
  let raw: DatabaseSync | null = null;
  try {
    const opened = new DatabaseSync(path, { readOnly: true, defensive: true, timeout: BUSY_TIMEOUT_MS });
    raw = opened;
    opened.exec('PRAGMA trusted_schema = OFF');
    checkOwner(opened, path, kind);
    return {
      prepare: (sql) => prepareChecked(opened, sql, { path, rules: kind.rules }),
      close: () => {
        opened.close();
      },
    };
  } catch (error) {
    raw?.close();
    if (error instanceof DatabaseError) throw error;
    throw new DatabaseError(`the ${kind.name} ${path} cannot be read: ${describeStorageError(error)}`, error);
  }
}

function checkOwner(
  raw: DatabaseSync,
  path: string,
  { name, applicationId, migrations }: Parameters<typeof openOtherDatabase>[1],
): void {
  const owner = raw.prepare('PRAGMA application_id').get()?.['application_id'];
  if (owner !== applicationId) throw new ForeignDatabaseError(`${path} is not a ${name} of Slipway`);
  const version = raw.prepare('PRAGMA user_version').get()?.['user_version'];
  const known = versionOf(migrations);
  if (version === known) return;
  throw new ForeignDatabaseError(
    `${path} has the schema ${String(version)}, and this daemon reads other files of schema ${known} only; open it once as the main file of a daemon of this version`,
  );
}
