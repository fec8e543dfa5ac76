import type { CatalogReader } from './catalog-reader.ts';
import { dropRepeats } from './drop-repeats.ts';
import type { ObjectLayout } from './memory-pack-layout.ts';
import { readPackedOrJsonCatalog, type PackedOrJsonLayout } from './packed-or-json-catalog.ts';

const TABLE_BUNDLE: ObjectLayout = {
  name: 'TableBundle',
  members: [
    { name: 'Name', kind: 'string' },
    { name: 'Size', kind: 'int64' },
    { name: 'Crc', kind: 'int64' },
    { name: 'isInbuild', kind: 'boolean' },
    { name: 'isChanged', kind: 'boolean' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'IsSplitDownload', kind: 'boolean' },
    { name: 'Includes', kind: 'strings' },
  ],
};
const TABLE_PATCH_PACK: ObjectLayout = {
  name: 'TablePatchPack',
  members: [
    { name: 'Name', kind: 'string' },
    { name: 'Size', kind: 'int64' },
    { name: 'Crc', kind: 'int64' },
    { name: 'IsPrologue', kind: 'boolean' },
    { name: 'BundleFiles', kind: { listOf: TABLE_BUNDLE } },
  ],
};
const TABLE_CATALOG: ObjectLayout = {
  name: 'TableCatalog',
  members: [
    { name: 'Table', kind: { mapOf: TABLE_BUNDLE } },
    { name: 'TablePack', kind: { mapOf: TABLE_PATCH_PACK } },
  ],
};
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
