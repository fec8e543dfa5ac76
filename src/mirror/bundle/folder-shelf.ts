import { stat } from 'node:fs/promises';
import { errorCode } from '../../platform/files/error-code.ts';
import { BundleError } from './bundle-error.ts';
import { listBundles } from './bundle-folder.ts';
import type { BundleShelf } from './bundle-source.ts';
import { openBundle, type Bundle } from './open-bundle.ts';
import { openLayout, type Layout } from './open-layout.ts';

interface ShelvedFile {
  readonly layout: Layout;
  readonly bundles: readonly Bundle[];
}

type FolderShelf = BundleShelf & {
  close(): Promise<void>;
};

/**
 * Makes the shelf over a folder into which `slipway import` puts bundles. A file that another one replaced is read again.
 *
 * @param folder may be absent as long as there is no bundle
 */
export function createFolderShelf(folder: string): FolderShelf {
  let files = new Map<string, ShelvedFile>();

  const openFile = async (path: string, signal: AbortSignal): Promise<ShelvedFile> => {
    const layout = await openLayout(path);
    try {
      const bundles: Bundle[] = [];
      for (const manifest of layout.manifests) bundles.push(await openBundle(layout, manifest, signal));
      return { layout, bundles };
    } catch (error) {
      await layout.close();
      throw error;
    }
  };

  const lookNow = async (signal: AbortSignal): Promise<readonly Bundle[]> => {
    const next = new Map<string, ShelvedFile>();
    for (const path of await listBundles(folder)) {
      try {
        const { ino, size, mtimeNs } = await stat(path, { bigint: true });
        const key = `${path}\0${ino}\0${size}\0${mtimeNs}`;
        const file = files.get(key) ?? (await openFile(path, signal));
        files.set(key, file);
        next.set(key, file);
      } catch (error) {
        // Removed since the folder was listed.
        if (errorCode(error) === 'ENOENT') continue;
        if (!(error instanceof BundleError)) throw error;
        throw new BundleError(`${error.message}; remove ${path} from the folder, or import it again`);
      }
    }
    const gone = [...files].filter(([key]) => !next.has(key));
    files = next;
    for (const [, { layout }] of gone) await layout.close();
    return [...next.values()].flatMap(({ bundles }) => bundles);
  };

  let turn: Promise<unknown> = Promise.resolve();
  return {
    label: folder,
    remedy: 'import it with slipway import --to this folder',
    // One at a time: the one that ends last would close the files that the other one opened.
    look: async (signal) => {
      const found = turn.then(async () => await lookNow(signal));
      turn = found.catch(() => undefined);
      return await found;
    },
    close: async () => {
      const open = [...files.values()];
      files = new Map();
      for (const { layout } of open) await layout.close();
    },
  };
}
