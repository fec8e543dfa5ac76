import type { CatalogChoice, CatalogReader } from './catalog-reader.ts';
import {
  readJsonCatalog,
  readPackedOrJsonCatalog,
  type PackedOrJsonLayout,
} from './packed-or-json-catalog.ts';
import { BUNDLE_PACKING_INFO, MEDIA_CATALOG, TABLE_CATALOG } from '../../formats/memorypack/game-catalogs.ts';

const bundleDownloadInfoReader: CatalogReader = {
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
function bundleDownloadInfoChoice(platform: string): Required<CatalogChoice> {
  return {
    paths: [`${platform}/bundleDownloadInfo.json`],
    beside: ['json', 'zip', 'hash'].map((ending) => `${platform}/catalog_${platform}.${ending}`),
  };
}

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
    // A pack can be both full and update.
    return readPackedOrJsonCatalog(document, {
      fields: { path: 'PackName', size: 'PackSize', crc: 'Crc' },
      folder,
      packed: BUNDLE_PACKING_INFO,
      containers: ['FullPatchPacks', 'UpdatePacks'],
      bare: false,
    });
  },
};

/**
 * Reads `<folder>/Catalog/MediaCatalog.bytes` (MemoryPack) or, before that, `.json`, or where it lay before: audio,
 * video, images. The folder is `MediaResources`, for Windows `MediaResources-Windows`.
 */
export const mediaCatalogReader: CatalogReader = {
  name: 'media-catalog',
  catalogPaths: ({ platforms }) =>
    [...new Set(platforms.map(folderOf))].map((folder) => ({
      paths: [
        `${folder}/Catalog/MediaCatalog.bytes`,
        `${folder}/MediaCatalog.bytes`,
        `${folder}/Catalog/MediaCatalog.json`,
        `${folder}/MediaCatalog.json`,
      ],
      beside: [`${folder}/Catalog/MediaCatalog.json`],
    })),
  read: (document) => {
    const [folder = ''] = document.path.split('/');
    return readPackedOrJsonCatalog(document, {
      fields: { path: 'Path', size: 'Bytes', crc: 'Crc' },
      folder: `${folder}/`,
      packed: MEDIA_CATALOG,
      containers: ['Table'],
      bare: true,
    });
  },
};

function folderOf(platform: string): string {
  return platform === 'Windows' ? 'MediaResources-Windows' : 'MediaResources';
}

const LAYOUT: PackedOrJsonLayout = {
  fields: { path: 'Name', size: 'Size', crc: 'Crc' },
  folder: 'TableBundles/',
  packed: TABLE_CATALOG,
  containers: ['Table', 'TablePack'],
  bare: false,
};

/**
 * Reads `TableBundles/TableCatalog.bytes` (MemoryPack) or, before that, `.json`: table archives and packs of them. A
 * pack is one file; the archives inside it are not files of their own.
 */
export const tableCatalogReader: CatalogReader = {
  name: 'table-catalog',
  catalogPaths: () => [
    {
      paths: ['TableBundles/TableCatalog.bytes', 'TableBundles/TableCatalog.json'],
      beside: ['TableBundles/TableCatalog.json'],
    },
  ],
  read: (document) => readPackedOrJsonCatalog(document, LAYOUT),
};

export const knownCatalogReaders: readonly CatalogReader[] = [
  tableCatalogReader,
  mediaCatalogReader,
  bundlePackingInfoReader,
  bundleDownloadInfoReader,
];
