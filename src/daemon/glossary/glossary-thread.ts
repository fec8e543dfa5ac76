import { join, resolve } from 'node:path';
import { realpath } from 'node:fs/promises';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { createThread, type Thread } from '../../platform/threads/thread.ts';
import { findBelowRoot } from '../../platform/files/below-root.ts';
import type { GlossaryCalls, GlossaryFile, GlossaryThreadData } from './glossary-worker.ts';

/** MiB. A compiled Glossary of 50,000 terms takes about 60 of it; the memory of SQLite is not part of it. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 512 };

/** Creates the thread that owns the Glossary at a path. */
export function createGlossaryThread(path: string): Thread<GlossaryCalls> {
  return createThread<GlossaryCalls>({
    purpose: 'owns the Glossary',
    module: new URL('./glossary-worker.ts', import.meta.url),
    data: { path } satisfies GlossaryThreadData,
    limits: THREAD_LIMITS,
  });
}

/** Finds the files that callers name. */
export interface GlossaryFiles {
  /** @throws ServiceError `invalid_path`, `file_not_found` */
  find(glossaryPath: string | undefined): Promise<GlossaryFile>;
  /** Refuses every file except the main one. @throws ServiceError `invalid_path`, `file_not_found` */
  requireMain(glossaryPath: string | undefined): Promise<void>;
}

export interface GlossaryFileOptions {
  /** The main Glossary. */
  readonly path: string;
  /** Folder of the other ones. */
  readonly root: () => string;
}

/** Name of the folder of other files in the data folder, unless it is configured. */
export const DEFAULT_ROOT = 'glossary';

/** Creates the search for files. The main one can be named, too, when it lies below the root. */
export function createGlossaryFiles({ path, root }: GlossaryFileOptions): GlossaryFiles {
  const find = async (glossaryPath: string | undefined): Promise<GlossaryFile> => {
    if (glossaryPath === undefined) return null;
    const found = await findBelowRoot(root(), glossaryPath);
    if (found === null) {
      throw new ServiceError(
        'file_not_found',
        `there is no Glossary "${glossaryPath}" in ${resolve(root())}: leave glossary_path out for the main one`,
      );
    }
    const main = await realpath(path).catch(() => path);
    return found === main ? null : found;
  };
  return {
    find,
    requireMain: async (glossaryPath) => {
      if ((await find(glossaryPath)) === null) return;
      throw new ServiceError(
        'invalid_path',
        `the Glossary "${String(glossaryPath)}" is only read: leave glossary_path out to change the main one`,
      );
    },
  };
}

/** The main Glossary of a data folder. */
export function mainGlossaryPath(dataDirectory: string): string {
  return join(dataDirectory, 'glossary.db');
}
