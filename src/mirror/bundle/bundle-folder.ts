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
