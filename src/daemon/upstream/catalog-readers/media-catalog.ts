import type { CatalogReader } from './catalog-reader.ts';
import { MEDIA_CATALOG } from '../../formats/memorypack/game-catalogs.ts';
import { readPackedOrJsonCatalog } from './packed-or-json-catalog.ts';

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
