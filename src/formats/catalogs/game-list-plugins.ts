import { type CatalogPlugin, mediaFolderOf } from './catalog-plugin.ts';
import { createListPlugin, type ListRule, type RecordFields } from './list-plugin.ts';

const NAMED: RecordFields = { path: 'Name', size: ['Size'], checksums: ['Crc'] };

const RULES: readonly Omit<ListRule, 'format'>[] = [
  { name: 'table-catalog-json', matches: named('TableCatalog'), fields: NAMED },
  {
    name: 'media-catalog-json',
    matches: named('MediaCatalog'),
    folderOf: mediaFolderOf,
    fields: { path: 'Path', size: ['Bytes'], checksums: ['Crc'] },
  },
  {
    name: 'bundle-packing-info-json',
    matches: named('BundlePackingInfo'),
    fields: { path: 'PackName', size: ['PackSize'], checksums: ['Crc'] },
    inner: { ...NAMED, checksums: ['Crc', 'FileHash', 'Signature'] },
  },
  { name: 'bundle-download-info', matches: named('bundleDownloadInfo'), fields: NAMED },
];

/** The plug-ins of the catalogs of games in JSON, which are older than those in MemoryPack or stand beside them. */
export const GAME_LIST_PLUGINS: readonly CatalogPlugin[] = RULES.map((rule) =>
  createListPlugin({ ...rule, format: 'json' }),
);

function named(name: string): (path: string) => boolean {
  return (path) => path.slice(path.lastIndexOf('/') + 1) === `${name}.json`;
}
