import type { DatabaseSync } from 'node:sqlite';
import { DatabaseError, ForeignDatabaseError } from './database-error.ts';
import { messageOf } from '../../platform/errors.ts';

/** One step of a schema. A step that was released is never changed: a later one corrects it. */
export interface Migration {
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
 * @throws DatabaseError when the database is newer than the steps, or a step fails (nothing of it remains)
 */
export function migrate(
  raw: DatabaseSync,
  path: string,
  migrations: readonly Migration[],
  transaction: <T>(section: () => T) => T,
): number {
  for (const [index, { version, name }] of migrations.entries()) {
    if (version !== index + 1)
      throw new DatabaseError(`migration "${name}" has version ${version}, not ${index + 1}`);
  }
  const found = schemaVersion(raw);
  if (found > migrations.length) {
    throw new ForeignDatabaseError(
      `the database ${path} was written by a newer daemon (schema ${found}, this one knows ${migrations.length}): run that version, or restore a backup from before it ran; nothing was changed`,
    );
  }
  for (const { version, name, sql } of migrations.slice(found)) {
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
  return migrations.length;
}

function schemaVersion(raw: DatabaseSync): number {
  return Number(raw.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
}
