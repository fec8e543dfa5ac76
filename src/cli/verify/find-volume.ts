import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../platform/files/error-code.ts';

/** The folder of the volume in a data folder of `slipway dev`. */
const SNAPSHOT = 'snapshot';

/**
 * Finds the snapshot volume in a folder: the folder itself, or `snapshot` below it. A volume has `FORMAT`. One that lost it is
 * damaged, and is known by `objects` together with `manifests`; either name alone is common in other folders.
 *
 * @returns `null` when neither is one
 * @throws the error of lstat(2) when a name cannot be looked up, such as EACCES or EIO
 */
export async function findVolume(directory: string): Promise<string | null> {
  for (const root of [directory, join(directory, SNAPSHOT)]) {
    if (await exists(join(root, 'FORMAT'))) return root;
    if ((await exists(join(root, 'objects'))) && (await exists(join(root, 'manifests')))) return root;
  }
  return null;
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}
