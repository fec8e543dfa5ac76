import type { Blake3Hex } from '../../domain/release/digest.ts';
import { BundleError } from '../../mirror/bundle/bundle-error.ts';
import { listBundles } from '../../mirror/bundle/bundle-folder.ts';
import { openBundle } from '../../mirror/bundle/open-bundle.ts';
import { openLayout } from '../../mirror/bundle/open-layout.ts';
import { objectState } from '../../snapshot/objects/object-state.ts';
import type { ObjectLedger } from '../../snapshot/objects/object-ledger.ts';
import { findStore } from './find-store.ts';

/**
 * Makes the function that checks whether an object is here already: in the snapshot store of a data folder, or in a bundle
 * that was imported before. It compares names and sizes; the reader of the objects compares their digests.
 *
 * @param folder the folder of bundles, or `null`
 */
export function createHeldObjects(
  data: string,
  folder: string | null,
  signal: AbortSignal,
): (blake3: Blake3Hex, size: number) => Promise<boolean> {
  let places: Promise<{ readonly root: string | null; readonly bundles: readonly ObjectLedger[] }> | null =
    null;
  return async (blake3, size) => {
    // Most bundles are complete, and need nothing from here.
    places ??= (async () => ({ root: await storeIn(data), bundles: await bundledIn(folder, signal) }))();
    const { root, bundles } = await places;
    const isBundled = bundles.some((objects) => {
      const id = objects.find(blake3);
      return id >= 0 && objects.size(id) === size;
    });
    return isBundled || (root !== null && (await objectState(root, blake3, size)) === 'ok');
  };
}

async function storeIn(data: string): Promise<string | null> {
  try {
    return await findStore(data);
  } catch (error) {
    if (error instanceof BundleError) return null;
    throw error;
  }
}

async function bundledIn(folder: string | null, signal: AbortSignal): Promise<readonly ObjectLedger[]> {
  const found: ObjectLedger[] = [];
  for (const path of folder === null ? [] : await listBundles(folder)) {
    const layout = await openLayout(path);
    try {
      for (const manifest of layout.manifests)
        found.push((await openBundle(layout, manifest, signal)).objects);
    } finally {
      await layout.close();
    }
  }
  return found;
}
