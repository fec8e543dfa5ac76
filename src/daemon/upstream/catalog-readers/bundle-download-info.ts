import type { CatalogChoice, CatalogReader } from './catalog-reader.ts';
import { readJsonCatalog } from './json-catalog.ts';

/** Reads `<Platform>/bundleDownloadInfo.json`: one file per asset bundle, the layout before packs. */
export const bundleDownloadInfoReader: CatalogReader = {
  name: 'bundle-download-info',
  catalogPaths: ({ platforms }) => platforms.map(bundleDownloadInfoChoice),
  read: (document) =>
    readJsonCatalog(document, {
      containers: ['BundleFiles'],
      fields: { path: 'Name', size: 'Size', crc: 'Crc' },
      folder: document.path.slice(0, document.path.lastIndexOf('/') + 1),
      bare: false,
    }),
};

/** The catalog of single bundles of a platform, and the files beside it. */
export function bundleDownloadInfoChoice(platform: string): Required<CatalogChoice> {
  return {
    paths: [`${platform}/bundleDownloadInfo.json`],
    beside: ['json', 'zip', 'hash'].map((ending) => `${platform}/catalog_${platform}.${ending}`),
  };
}
