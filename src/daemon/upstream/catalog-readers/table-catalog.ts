import type { CatalogReader } from './catalog-reader.ts';
import { dropRepeats } from './drop-repeats.ts';
import { TABLE_CATALOG } from '../../formats/memorypack/game-catalogs.ts';
import { readPackedOrJsonCatalog, type PackedOrJsonLayout } from './packed-or-json-catalog.ts';

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
  read: (document) => dropRepeats(readPackedOrJsonCatalog(document, LAYOUT)),
};
