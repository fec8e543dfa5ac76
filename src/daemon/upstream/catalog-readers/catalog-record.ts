import {
  invalidEntry,
  isRecord,
  parseEntryCrc32,
  parseEntryDestination,
  parseEntrySize,
} from '../entry-rules.ts';
import type { CatalogFile } from './catalog-reader.ts';

/** Where the facts about a file stand in the records of one kind of catalog. */
export interface CatalogRecordLayout {
  /** Members of a record. */
  readonly fields: { readonly path: string; readonly size: string; readonly crc: string };
  /** Folder of the files below the catalog root, with a trailing slash. */
  readonly folder: string;
}

/**
 * Parses one record of a catalog. Backslashes in its path become `/`.
 *
 * @param where names the place in the catalog, for messages
 * @throws UpstreamError `catalog_invalid` or `destination_invalid`
 */
export function parseCatalogRecord(value: unknown, layout: CatalogRecordLayout, where: string): CatalogFile {
  if (!isRecord(value)) throw invalidEntry(where, 'it must be an object');
  const { fields, folder } = layout;
  const path = value[fields.path];
  if (typeof path !== 'string' || path === '') throw invalidEntry(where, `it has no ${fields.path}`);
  return {
    destination: parseEntryDestination(folder + path.replaceAll('\\', '/'), where),
    size: parseEntrySize(value[fields.size], `${where}: ${fields.size}`),
    digests: { crc32: parseEntryCrc32(value[fields.crc], `${where}: ${fields.crc}`) },
  };
}
