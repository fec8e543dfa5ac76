import type { DatabaseSync } from 'node:sqlite';
import { DatabaseError, ForeignDatabaseError } from './database-error.ts';
import { messageOf } from '../../platform/errors.ts';

/** One step of a schema. A step that was released is never changed: a later one corrects it. */
export interface Migration {
  /** The first step of a schema makes all tables of a new file, at any version; each later one has the next version. */
  readonly version: number;
  readonly name: string;
  /** The statements; they run in one transaction. */
  readonly sql: string;
}

/**
 * Applies the steps that a database has not had yet, each in a separate transaction together with its number.
 *
 * @param transaction runs a section in one write transaction
 * @returns the version of the schema
 * @throws DatabaseError when the database is older than the first step or newer than the last one, or a step fails (nothing of it
 *   remains)
 */
export function migrate(
  raw: DatabaseSync,
  path: string,
  migrations: readonly Migration[],
  transaction: <T>(section: () => T) => T,
): number {
  const oldest = migrations[0]?.version ?? 0;
  for (const [index, { version, name }] of migrations.entries()) {
    if (version !== oldest + index)
      throw new DatabaseError(`migration "${name}" has version ${version}, not ${oldest + index}`);
  }
  const newest = versionOf(migrations);
  const found = schemaVersion(raw);
  if (found > newest) {
    throw new ForeignDatabaseError(
      `the database ${path} was written by a newer daemon (schema ${found}, this one knows ${newest}): run that version, or restore a backup from before it ran; nothing was changed`,
    );
  }
  if (found > 0 && found < oldest) {
    throw new ForeignDatabaseError(
      `the database ${path} was written before the first release (schema ${found}, this daemon reads ${oldest} and later): start with an empty data folder; nothing was changed`,
    );
  }
  for (const { version, name, sql } of migrations) {
    if (version <= found) continue;
    try {
      transaction(() => {
        raw.exec(sql);
        raw.exec(`PRAGMA user_version = ${version}`);
      });
    } catch (error) {
      throw new DatabaseError(
        `schema step ${version} (${name}) of ${path} failed: ${messageOf(error)}`,
        error,
      );
    }
  }
  return newest;
}

/** The version of a schema after all of its steps. */
export function versionOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

function schemaVersion(raw: DatabaseSync): number {
  return Number(raw.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
}
