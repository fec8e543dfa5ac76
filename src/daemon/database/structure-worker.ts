import { checkFile } from './structure-of-file.ts';

/** The function of the thread that checks a database. */
export interface StructureCalls {
  /**
   * Checks the structure of a file.
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
      for (const finding of checkFile(path)) if (finding !== null) return finding;
      return null;
    },
  };
}
