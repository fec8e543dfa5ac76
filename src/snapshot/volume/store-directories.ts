import { randomUUID } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../../platform/files/error-code.ts';
import { quarantineDirectory, STORE_DIRECTORIES } from './layout.ts';
import { mkdir, rename } from '../../platform/files/file-changes.ts';

/** Every directory of a store with its parents. The quarantine is first, because the others may need it. */
const ALL: readonly string[] = [
  ...new Set([
    basename(quarantineDirectory('')),
    ...STORE_DIRECTORIES.flatMap((directory) => {
      const parent = dirname(directory);
      return parent === '.' ? [directory] : [parent, directory];
    }),
  ]),
];

type DirectoryState = 'ok' | 'missing' | 'wrong';

/** The directories of the store that were replaced by something else. A symbolic link leads out of the store. */
export async function findWrongDirectories(root: string): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const directory of ALL) {
    if ((await stateOf(join(root, directory))) === 'wrong') wrong.push(directory);
  }
  return wrong;
}

/**
 * Creates the directories of a store that are missing. Anything else in their place goes into the quarantine.
 *
 * @throws the file system error
 */
export async function makeStoreDirectories(root: string): Promise<void> {
  for (const directory of ALL) await makeRealDirectory(root, join(root, directory));
}

/**
 * Creates a directory of the store in an existing one. Anything else in its place goes into the quarantine.
 *
 * @returns whether it is new
 * @throws the file system error
 */
export async function makeRealDirectory(root: string, path: string): Promise<boolean> {
  const state = await stateOf(path);
  if (state === 'ok') return false;
  if (state === 'wrong') await setAside(root, path);
  try {
    // Not recursive: the root of a volume that is not mounted gets no directories.
    await mkdir(path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  return true;
}

/**
 * Moves something into the quarantine, for diagnosis. Does nothing when it is not there.
 *
 * @throws the file system error
 */
export async function setAside(root: string, path: string): Promise<void> {
  const quarantine = quarantineDirectory(root);
  const id = randomUUID();
  // The next start removes a leftover of this name.
  const target =
    path === quarantine ? join(root, `.quarantine.${id}.tmp`) : join(quarantine, `${basename(path)}.${id}`);
  try {
    await rename(path, target);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || (await stateOf(path)) !== 'missing') throw error;
  }
}

/** Moves a file over a path. A directory in its place goes into the quarantine. @throws the file system error */
export async function renameIntoPlace(root: string, from: string, path: string): Promise<void> {
  try {
    await rename(from, path);
  } catch (error) {
    if (errorCode(error) !== 'EISDIR') throw error;
    await setAside(root, path);
    await rename(from, path);
  }
}

async function stateOf(path: string): Promise<DirectoryState> {
  try {
    return (await lstat(path)).isDirectory() ? 'ok' : 'wrong';
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return 'missing';
    throw error;
  }
}
