import { open } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import type { DialogRow } from './dialog-row.ts';

/** SQLite stores its own version at this offset of a file (SQLite file format, section 1.3.15). */
const VERSION_OFFSET = 96;
const VERSION = 3_053_000;

/**
 * Writes a database with one table `Dialog (Id INTEGER PRIMARY KEY, Speaker TEXT, TextJp TEXT)`. The same rows give the
 * same bytes, also from another version of SQLite.
 *
 * @param path a file that does not exist yet
 */
export async function writeSqliteTable(path: string, rows: readonly DialogRow[]): Promise<void> {
  const database = new DatabaseSync(path);
  try {
    database.exec(`PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA journal_mode = OFF;
      PRAGMA synchronous = OFF; BEGIN;
      CREATE TABLE Dialog (Id INTEGER PRIMARY KEY, Speaker TEXT NOT NULL, TextJp TEXT NOT NULL)`);
    const insert = database.prepare('INSERT INTO Dialog VALUES (?, ?, ?)');
    // Each run returns the last row id.
    insert.setReadBigInts(true);
    for (const { id, speaker, text } of rows) insert.run(id, speaker, text);
    database.exec('COMMIT');
  } finally {
    database.close();
  }
  const file = await open(path, 'r+');
  try {
    const version = Buffer.alloc(4);
    version.writeUInt32BE(VERSION);
    await file.write(version, 0, version.length, VERSION_OFFSET);
  } finally {
    await file.close();
  }
}
