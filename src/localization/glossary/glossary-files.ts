import { join } from 'node:path';
import { realpath } from 'node:fs/promises';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { findBelowRoot } from '../../platform/files/below-root.ts';
import type { GlossaryFile } from './glossary-worker.ts';

export interface GlossaryFiles {
  /** @throws ServiceError `invalid_path`, `file_not_found` */
  find(glossaryPath: string | undefined): Promise<GlossaryFile>;
  /** Refuses every file except the main one. @throws ServiceError `invalid_path`, `file_not_found` */
  requireMain(glossaryPath: string | undefined): Promise<void>;
}

/** Creates the search for Glossary files below a root. A request may also name the main file there. @param path of the main file */
export function createGlossaryFiles(path: string, root: () => string): GlossaryFiles {
  const find = async (glossaryPath: string | undefined): Promise<GlossaryFile> => {
    if (glossaryPath === undefined) return null;
    const found = await findBelowRoot(root(), glossaryPath);
    if (found === null) {
      // The main one is made with its first term.
      if (join(root(), glossaryPath) === path) return null;
      throw new ServiceError(
        'file_not_found',
        `there is no Glossary "${glossaryPath}" in the folder glossary.root: leave glossary_path out for the main one`,
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

export function mainGlossaryPath(dataDirectory: string): string {
  return join(dataDirectory, 'glossary.db');
}
