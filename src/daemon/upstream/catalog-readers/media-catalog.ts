import type { CatalogReader } from './catalog-reader.ts';
import type { ObjectLayout } from './memory-pack-layout.ts';
import { readPackedOrJsonCatalog } from './packed-or-json-catalog.ts';

const MEDIA: ObjectLayout = {
  name: 'Media',
  members: [
    { name: 'Path', kind: 'string' },
    { name: 'FileName', kind: 'string' },
    { name: 'Bytes', kind: 'int64' },
    { name: 'Crc', kind: 'int64' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'IsSplitDownload', kind: 'boolean' },
    { name: 'MediaType', kind: 'int32' },
  ],
};
const MEDIA_CATALOG: ObjectLayout = {
  name: 'MediaCatalog',
  members: [{ name: 'Table', kind: { mapOf: MEDIA } }],
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
