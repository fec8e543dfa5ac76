import { statSync } from 'node:fs';
import { createDiagnosis, type DiagnoseUnits } from './glossary-diagnosis.ts';
import { openOtherGlossary } from './store/glossary-database.ts';
import { createGlossaryReader, type GlossaryReader } from './store/glossary-reader.ts';

interface OtherGlossary {
  readonly reader: GlossaryReader;
  readonly diagnose: DiagnoseUnits;
  close(): void;
}

interface OtherGlossaries {
  /** Runs work with a file. @throws DatabaseError when it cannot be read; the error of the work */
  use<T>(path: string, work: (glossary: OtherGlossary) => T): T;
  close(): void;
}

/** Files that stay open. */
const KEPT_FILES = 2;

/** Creates the holder of the files; those that were used last stay open. */
export function createOtherGlossaries(): OtherGlossaries {
  const opened = new Map<string, { readonly glossary: OtherGlossary; readonly file: string }>();
  const drop = (path: string): void => {
    const before = opened.get(path);
    opened.delete(path);
    before?.glossary.close();
  };
  return {
    use: (path, work) => {
      const file = identityOf(path);
      let current = opened.get(path);
      if (current?.file !== file) {
        drop(path);
        current = { glossary: open(path), file };
      }
      opened.delete(path);
      opened.set(path, current);
      const [oldest] = opened.keys();
      if (opened.size > KEPT_FILES && oldest !== undefined) drop(oldest);
      try {
        return work(current.glossary);
      } catch (error) {
        drop(path);
        throw error;
      }
    },
    close: () => {
      for (const path of opened.keys()) drop(path);
    },
  };
}

function open(path: string): OtherGlossary {
  const database = openOtherGlossary(path);
  try {
    const reader = createGlossaryReader(database);
    return { reader, diagnose: createDiagnosis(reader), close: () => database.close() };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Changes when another file is at the path. */
function identityOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.dev}:${found.ino}`;
}
