import type { CatalogReader } from './catalog-reader.ts';
import { readJsonCatalog } from './json-catalog.ts';

/** Reads `<Platform>/bundleDownloadInfo.json`: one file per asset bundle, the layout before packs. */
export const bundleDownloadInfoReader: CatalogReader = {
  name: 'bundle-download-info',
  catalogPaths: ({ platforms }) =>
    platforms.map((platform) => ({
      paths: [`${platform}/bundleDownloadInfo.json`],
      beside: [
        `${platform}/catalog_${platform}.json`,
        `${platform}/catalog_${platform}.zip`,
        `${platform}/catalog_${platform}.hash`,
      ],
    })),
  read: (document) =>
    readJsonCatalog(document, {
      containers: ['BundleFiles'],
      fields: { path: 'Name', size: 'Size', crc: 'Crc' },
      folder: document.path.slice(0, document.path.lastIndexOf('/') + 1),
      bare: false,
    }),
};
