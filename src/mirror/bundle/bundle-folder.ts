import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../platform/files/error-code.ts';
import { BundleError } from './bundle-error.ts';

/** How the names of bundles in a folder end. A name that begins with a dot is a bundle that is being written. */
const BUNDLE_NAME = /^[^.].*\.tar$/;

/** The most bundles of one folder: each is an open file and a list of objects in memory. */
const FOLDER_MAX_BUNDLES = 64;

/**
 * The paths of the bundles in a folder, in the order of their names; none when there is no such folder.
 *
 * @throws BundleError when there are too many; the file system error
 */
export async function listBundles(folder: string): Promise<string[]> {
  try {
    const names = (await readdir(folder)).filter((name) => BUNDLE_NAME.test(name)).sort();
    if (names.length > FOLDER_MAX_BUNDLES) {
      throw new BundleError(
        `${folder} holds ${names.length} bundles, and at most ${FOLDER_MAX_BUNDLES} are read: remove those of releases that are in the store`,
      );
    }
    return names.map((name) => join(folder, name));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Checks that one more bundle can be put into a folder.
 *
 * @param name of the bundle; it may replace one of this name
 * @throws BundleError when the daemon would then read none of them; the file system error
 */
export async function checkRoom(folder: string, name: string): Promise<void> {
  const paths = await listBundles(folder);
  if (paths.length < FOLDER_MAX_BUNDLES || paths.includes(join(folder, name))) return;
  throw new BundleError(
    `${folder} holds ${paths.length} bundles, and a daemon reads at most ${FOLDER_MAX_BUNDLES}: remove those of releases that are no longer current`,
  );
}
