import { checkFile } from './structure-of-file.ts';

/** Checks databases. */
export class StructureStore {
  /**
   * Checks the structure of a file.
   *
   * @returns the first finding, or `null`; of a file that is too damaged to be read, the message of SQLite
   * @throws other errors of SQLite
   */
  check(path: string): string | null {
    for (const finding of checkFile(path)) if (finding !== null) return finding;
    return null;
  }
}

export function createStore(): StructureStore {
  return new StructureStore();
}
