import { bundleDownloadInfoReader, bundleDownloadInfoChoice } from './bundle-download-info.ts';
import type { CatalogReader } from './catalog-reader.ts';
import { dropRepeats } from './drop-repeats.ts';
import { BUNDLE_PACKING_INFO } from '../../formats/memorypack/game-catalogs.ts';
import { readPackedOrJsonCatalog } from './packed-or-json-catalog.ts';

/**
 * Reads `<Platform>_PatchPack/BundlePackingInfo.bytes` (MemoryPack) or, before that, `.json`: zip packs of asset
 * bundles. A pack is one file; the bundles inside it are not files of their own. Where a root has no packs yet, it reads
 * the catalog of single bundles.
 */
export const bundlePackingInfoReader: CatalogReader = {
  name: 'bundle-packing-info',
  catalogPaths: ({ platforms }) =>
    platforms.map((platform) => {
      const folder = `${platform}_PatchPack`;
      const old = bundleDownloadInfoChoice(platform);
      return {
        paths: [`${folder}/BundlePackingInfo.bytes`, `${folder}/BundlePackingInfo.json`, ...old.paths],
        beside: [
          ...old.beside,
          `${folder}/BundlePackingInfo.json`,
          `${folder}/catalog_${platform}.zip`,
          `${folder}/catalog_${platform}.hash`,
        ],
      };
    }),
  read: (document) => {
    if (document.path.endsWith('/bundleDownloadInfo.json')) return bundleDownloadInfoReader.read(document);
    const folder = document.path.slice(0, document.path.lastIndexOf('/') + 1);
    return dropRepeats(
      readPackedOrJsonCatalog(document, {
        fields: { path: 'PackName', size: 'PackSize', crc: 'Crc' },
        folder,
        packed: BUNDLE_PACKING_INFO,
        containers: ['FullPatchPacks', 'UpdatePacks'],
        bare: false,
      }),
    );
  },
};
