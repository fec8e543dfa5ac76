import { DatabaseSync } from 'node:sqlite';
import { checkStructure } from './structure-check.ts';

/** The function of the thread that checks a database. */
export interface StructureCalls {
  /**
   * Checks the structure of a file with a connection of its own, which cannot write.
   *
   * @returns the first finding, or `null`
   * @throws the error of SQLite
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
      } finally {
        raw.close();
      }
    },
  };
}
