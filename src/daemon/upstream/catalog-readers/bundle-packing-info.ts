import type { CatalogReader } from './catalog-reader.ts';
import { readJsonCatalog } from './json-catalog.ts';

/** Reads `<Platform>_PatchPack/BundlePackingInfo.json`: zip packs of asset bundles. */
export const bundlePackingInfoReader: CatalogReader = {
  name: 'bundle-packing-info',
  catalogPaths: ({ platforms }) =>
    platforms.map((platform) => ({ paths: [`${platform}_PatchPack/BundlePackingInfo.json`] })),
  read: (document) =>
    readJsonCatalog(document, {
      containers: ['FullPatchPacks', 'UpdatePacks'],
      fields: { path: 'PackName', size: 'PackSize', crc: 'Crc' },
      folder: folderOf(document.path),
      bare: false,
    }),
};

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}
