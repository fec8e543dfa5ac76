import { realpathSync } from 'node:fs';
import { findBelowRootSync } from '../../../platform/files/below-root.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { messageOf } from '../../../platform/errors.ts';
import { systemClock, type Clock } from '../../../platform/process/clock.ts';
import { DatabaseError } from '../../../engine/database/database-error.ts';
import { describeStorageError, storageFailureOf } from '../../../engine/database/storage-failure.ts';
import { createWorkFile, type WorkFile } from '../../../engine/database/work-file.ts';
import { OtherFiles } from '../../other-database.ts';
import {
  memoryIn,
  openMainMemory,
  openOtherMemory,
  type MainMemory,
  type OpenMemory,
} from './memory-database.ts';

type MemoryFileCode = 'invalid_path' | 'file_not_found' | 'unavailable';

/** A file of the Translation Memory that cannot be used. `code` is kept on the way to another thread. */
export class MemoryFileError extends Error {
  readonly code: MemoryFileCode;

  constructor(code: MemoryFileCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'MemoryFileError';
    this.code = code;
  }
}

export interface MemoryPaths {
  readonly main: string;
  readonly root: string;
}

/** Most other files that are open together. */
const MOST_OTHER_FILES = 4;

/** The files of the Translation Memory. A file is opened with its first use; the main one is created once and never again. */
export class MemoryFiles {
  readonly #paths: MemoryPaths;
  readonly #main: WorkFile<MainMemory>;
  readonly #others = new OtherFiles((path) => memoryIn(openOtherMemory(path)), MOST_OTHER_FILES);

  constructor(paths: MemoryPaths, clock: Clock = systemClock) {
    this.#paths = paths;
    this.#main = createWorkFile({
      path: paths.main,
      content: 'the Translation Memory',
      open: (path) => memoryIn(openMainMemory(path)),
      monotonic: () => clock.monotonic(),
    });
  }

  /**
   * Uses a file to read.
   *
   * @param path relative to the root; `null` for the main file
   * @throws MemoryFileError
   */
  read<T>(path: string | null, use: (memory: OpenMemory) => T): T {
    const file = fileOf(this.#paths, path);
    return named(() => (file === this.#paths.main ? this.#main.use(use) : this.#others.use(file, use)));
  }

  /**
   * Uses the main file to write.
   *
   * @param path must be `null` or lead to the main file
   * @throws MemoryFileError
   */
  write<T>(path: string | null, use: (memory: MainMemory) => T): T {
    if (fileOf(this.#paths, path) === this.#paths.main) return named(() => this.#main.use(use));
    throw new MemoryFileError(
      'invalid_path',
      `${path ?? ''} is not the Translation Memory of this daemon and can only be read; leave translation_memory_path out to change that one`,
    );
  }

  /** Which value of the main file is damaged; `null` while none was read. */
  damage(): string | null {
    return this.#main.damage()?.finding ?? null;
  }

  close(): void {
    this.#main.close();
    this.#others.close();
  }
}

/** Runs work; an error of a file that cannot be used becomes a MemoryFileError. */
function named<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof DatabaseError) && storageFailureOf(error) === null) throw error;
    const message = error instanceof DatabaseError ? error.message : describeStorageError(error);
    throw new MemoryFileError('unavailable', message, error);
  }
}

function fileOf({ main, root }: MemoryPaths, path: string | null): string {
  if (path === null) return main;
  let file: string | null;
  try {
    file = findBelowRootSync(root, path);
  } catch (error) {
    const isRefused = errorCode(error) === 'invalid_path';
    throw new MemoryFileError(isRefused ? 'invalid_path' : 'unavailable', messageOf(error), error);
  }
  if (file === null) {
    throw new MemoryFileError(
      'file_not_found',
      `there is no Translation Memory "${path}" in the folder memory.root: leave translation_memory_path out for the main one`,
    );
  }
  return isSame(file, main) ? main : file;
}

function isSame(file: string, main: string): boolean {
  try {
    return file === realpathSync(main);
  } catch {
    return false;
  }
}
