import { bundleDownloadInfoReader, bundleDownloadInfoChoice } from './bundle-download-info.ts';
import type { CatalogReader } from './catalog-reader.ts';
import { dropRepeats } from './drop-repeats.ts';
import type { ObjectLayout } from './memory-pack-layout.ts';
import { readPackedOrJsonCatalog } from './packed-or-json-catalog.ts';

const BUNDLE_FILE: ObjectLayout = {
  name: 'BundleFile',
  members: [
    { name: 'Name', kind: 'string' },
    { name: 'Size', kind: 'int64' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'Crc', kind: 'int64' },
    { name: 'IsSplitDownload', kind: 'boolean' },
    { name: 'FileHash', kind: 'int64' },
    { name: 'Signature', kind: 'string' },
  ],
};
const BUNDLE_PATCH_PACK: ObjectLayout = {
  name: 'BundlePatchPack',
  members: [
    { name: 'PackName', kind: 'string' },
    { name: 'PackSize', kind: 'int64' },
    { name: 'Crc', kind: 'int64' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'IsSplitDownload', kind: 'boolean' },
    { name: 'BundleFiles', kind: { listOf: BUNDLE_FILE } },
  ],
};
const BUNDLE_PACKING_INFO: ObjectLayout = {
  name: 'BundlePackingInfo',
  members: [
    { name: 'Milestone', kind: 'string' },
    { name: 'PatchVersion', kind: 'int32' },
    { name: 'FullPatchPacks', kind: { listOf: BUNDLE_PATCH_PACK } },
    { name: 'UpdatePacks', kind: { listOf: BUNDLE_PATCH_PACK } },
  ],
};

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
