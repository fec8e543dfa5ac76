import { lstat } from 'node:fs/promises';
import { join } from 'node:path';

/** The folder of the volume in a data folder of `slipway dev`. */
const SNAPSHOT = 'snapshot';
/** Names of a volume. One is enough: a volume that lost the others is damaged, and is looked at. */
const NAMES = ['FORMAT', 'objects', 'manifests'];

/**
 * Finds the snapshot volume in a folder: the folder itself, or `snapshot` below it.
 *
 * @returns `null` when neither is one
 */
export async function findVolume(directory: string): Promise<string | null> {
  for (const root of [directory, join(directory, SNAPSHOT)]) {
    const found = await Promise.all(
      NAMES.map(async (name) => await lstat(join(root, name)).catch(() => null)),
    );
    if (found.some((stats) => stats !== null)) return root;
  }
  return null;
}
