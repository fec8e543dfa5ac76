import type { CatalogReader } from './catalog-reader.ts';
import { readJsonCatalog } from './json-catalog.ts';

/** Reads `TableBundles/TableCatalog.json`: table archives and packs of them. */
export const tableCatalogReader: CatalogReader = {
  name: 'table-catalog',
  catalogPaths: () => [{ paths: ['TableBundles/TableCatalog.json'] }],
  read: (document) =>
    readJsonCatalog(document, {
      containers: ['Table', 'TablePack'],
      fields: { path: 'Name', size: 'Size', crc: 'Crc' },
      folder: 'TableBundles/',
      bare: false,
    }),
};
