import type { CatalogReader } from './catalog-reader.ts';
import { readJsonCatalog } from './json-catalog.ts';

/** Reads `MediaResources/Catalog/MediaCatalog.json`, or where it lay before: audio, video, images. */
export const mediaCatalogReader: CatalogReader = {
  name: 'media-catalog',
  catalogPaths: () => [
    { paths: ['MediaResources/Catalog/MediaCatalog.json', 'MediaResources/MediaCatalog.json'] },
  ],
  read: (document) =>
    readJsonCatalog(document, {
      containers: ['Table'],
      fields: { path: 'Path', size: 'Bytes', crc: 'Crc' },
      folder: 'MediaResources/',
      bare: true,
    }),
};
