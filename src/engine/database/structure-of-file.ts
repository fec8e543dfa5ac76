import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../platform/errors.ts';
import { isDatabaseDamage } from './storage-failure.ts';
import { checkStructure } from './structure-check.ts';

/**
 * Checks the structure of a file with a connection of its own, which cannot write, one step after another: a long read would keep the
 * write-ahead log from being written back.
 *
 * @returns a finding or `null` for each step; for a file that is too damaged to be read, the message of SQLite
 * @throws other errors of SQLite
 */
export function* checkFile(path: string): Generator<string | null> {
  const raw = new DatabaseSync(path, { readOnly: true });
  try {
    yield* checkStructure(raw);
  } catch (error) {
    if (!isDatabaseDamage(error)) throw error;
    yield messageOf(error);
  } finally {
    raw.close();
  }
}
