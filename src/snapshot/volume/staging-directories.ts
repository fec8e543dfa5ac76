import { randomUUID } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorCode } from '../../platform/files/error-code.ts';
import { makeDirectory } from '../../platform/files/files.ts';
import { stagingRoot } from './layout.ts';
import { STAGING_FAILPOINT } from './snapshot-failpoints.ts';
import type { WriteSteps } from './write-steps.ts';
import { rename, rm } from '../../platform/files/file-changes.ts';

export interface StagedFileInfo {
  readonly name: string;
  readonly bytes: number;
  /** When it was last written, Unix milliseconds. */
  readonly changedMs: number;
}

/** The directories in `tmp`, one for each task that stages files. */
export interface StagingDirectories {
  /** `tmp/<task_id>`, made when it is not there. Files in it can be committed by a rename. */
  stagingDirectory(taskId: string): Promise<string>;
  listStaging(): Promise<string[]>;
  /** The files of a staging directory; empty when there is no such directory. */
  listStaged(taskId: string): Promise<StagedFileInfo[]>;
  /** Removes a staging directory with all that is in it; does nothing when there is none. */
  removeStaging(taskId: string): Promise<void>;
  /** Removes one file of a staging directory. @param name as {@link listStaged} gives it */
  removeStaged(taskId: string, name: string): Promise<void>;
}

type Guard = <T>(operation: () => Promise<T>) => Promise<T>;

interface StagingDirectoryOptions {
  /** The root of the volume; its folder may change between two calls. */
  readonly volume: { readonly folder: string };
  readonly steps: WriteSteps;
  /** Gives errors of an operation the path that people know. */
  readonly named: Guard;
  /** Runs an operation, and again when a directory of the store was lost and is restored. */
  readonly inStore: Guard;
  /** The same, and looks at the directories first. */
  readonly inOwnDirectories: Guard;
}

const TASK_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export function createStagingDirectories(options: StagingDirectoryOptions): StagingDirectories {
  const { volume, steps, named, inStore, inOwnDirectories } = options;
  return {
    stagingDirectory: async (taskId) => {
      await inOwnDirectories(() => makeDirectory(stagingPath(volume.folder, taskId)));
      return stagingPath(volume.folder, taskId);
    },
    listStaging: async () =>
      (await inStore(() => readdir(stagingRoot(volume.folder)))).filter((name) => TASK_ID.test(name)).sort(),
    listStaged: (taskId) => named(() => listStaged(stagingPath(volume.folder, taskId))),
    removeStaging: (taskId) => named(() => removeStaging(volume.folder, taskId, steps)),
    removeStaged: async (taskId, name) => {
      if (basename(name) !== name) throw new RangeError(`not the name of a file: ${JSON.stringify(name)}`);
      await named(() => rm(join(stagingPath(volume.folder, taskId), name), { force: true }));
    },
  };
}

/** The staging directory of a task. @throws RangeError when the id is not usable as the name of a file */
export function stagingPath(root: string, taskId: string): string {
  // Task ids become names of files: nothing that a path could be made of.
  if (!TASK_ID.test(taskId))
    throw new RangeError(`not usable as the name of a directory: ${JSON.stringify(taskId)}`);
  return join(stagingRoot(root), taskId);
}

async function listStaged(directory: string): Promise<StagedFileInfo[]> {
  const found: StagedFileInfo[] = [];
  try {
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const { size: bytes, mtimeMs: changedMs } = await lstat(join(directory, entry.name));
      found.push({ name: entry.name, bytes, changedMs });
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  return found;
}

async function removeStaging(root: string, taskId: string, steps: WriteSteps): Promise<void> {
  const removed = join(stagingRoot(root), `.${taskId}.${randomUUID()}.tmp`);
  try {
    await rename(stagingPath(root, taskId), removed);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  steps.passed(STAGING_FAILPOINT);
  await rm(removed, { recursive: true, force: true });
}
