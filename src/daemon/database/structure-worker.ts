import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../platform/errors.ts';
import { isDatabaseDamage } from './storage-failure.ts';
import { checkStructure } from './structure-check.ts';

/** The function of the thread that checks a database. */
export interface StructureCalls {
  /**
   * Checks the structure of a file with a connection of its own, which cannot write.
   *
   * @returns the first finding, or `null`; of a file that is too damaged to be read, the message of SQLite
   * @throws other errors of SQLite
   */
  check(path: string): string | null;
}

/** Makes the function that the thread runs. */
export function createCalls(): StructureCalls {
  return {
    check: (path) => {
      const raw = new DatabaseSync(path, { readOnly: true });
      try {
        // One step after another: a long read would keep the write-ahead log from being written back.
        for (const finding of checkStructure(raw)) if (finding !== null) return finding;
        return null;
      } catch (error) {
        if (isDatabaseDamage(error)) return messageOf(error);
        throw error;
      } finally {
        raw.close();
      }
    },
  };
}
