import { join } from 'node:path';
import { readStoreFormat } from '../../snapshot/volume/snapshot-store.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { BundleError } from '../../mirror/bundle/bundle-error.ts';

/** The data folder of `slipway dev`, unless an option names another one. */
export const DEFAULT_DATA = '.slipway';

/** The folder of the snapshot in a data folder of `slipway dev`. */
const SNAPSHOT = 'snapshot';

/**
 * Finds the snapshot store in a folder: the volume itself, or the data folder of `slipway dev`.
 *
 * @throws BundleError when there is none; StoreFormatError; the file system error
 */
export async function findStore(directory: string): Promise<string> {
  for (const root of [directory, join(directory, SNAPSHOT)]) {
    try {
      await readStoreFormat(root);
      return root;
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR') throw error;
    }
  }
  throw new BundleError(
    `${directory} holds no snapshot store: name the snapshot volume or the data folder of make run with --data`,
  );
}
