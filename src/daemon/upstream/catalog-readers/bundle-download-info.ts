import type { CatalogReader } from './catalog-reader.ts';
import { readJsonCatalog } from './json-catalog.ts';

/** Reads `<Platform>/bundleDownloadInfo.json`: one file per asset bundle, the layout before packs. */
export const bundleDownloadInfoReader: CatalogReader = {
  name: 'bundle-download-info',
  catalogPaths: ({ platforms }) =>
    platforms.map((platform) => ({ paths: [`${platform}/bundleDownloadInfo.json`] })),
  read: (document) =>
    readJsonCatalog(document, {
      containers: ['BundleFiles'],
      fields: { path: 'Name', size: 'Size', crc: 'Crc' },
      folder: folderOf(document.path),
      bare: false,
    }),
};

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}
