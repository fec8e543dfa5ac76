import { isRecord } from '../../domain/is-record.ts';
import type { UpstreamEntry } from '../upstream.ts';
import { invalidEntry, parseEntryCrc32, parseEntryDestination, parseEntrySize } from '../entry-rules.ts';

interface CatalogReaderOptions {
  /** As configured, spelled as in upstream's paths: `Android`, `iOS`, `Windows`. */
  readonly platforms: readonly string[];
}

export interface CatalogChoice {
  /** Paths below the catalog root, best first; the first that exists is read, the others are left alone. */
  readonly paths: readonly [string, ...string[]];
  /** Files below the catalog root that belong to the catalog and that no catalog lists; each is optional. */
  readonly beside?: readonly string[];
}

export interface CatalogDocument {
  /** The path of the choice that existed. */
  readonly path: string;
  readonly label: string;
  /** Its bytes, bounded; iterate once, to the end. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** A file that a catalog lists; where it lies follows from its destination. */
export type CatalogFile = Omit<UpstreamEntry, 'locator'>;

/** Reads one kind of catalog below a catalog root; the plug-in point of the `server-info` upstream. */
export interface CatalogReader {
  /** Kebab-case; what `requiredCatalogs` and `optionalCatalogs` name. */
  readonly name: string;
  /** The catalogs to fetch, relative to the catalog root. */
  catalogPaths(options: CatalogReaderOptions): readonly CatalogChoice[];
  /**
   * Lists the files of one catalog, as a stream.
   *
   * @throws UpstreamError `catalog_invalid` or `destination_invalid`
   */
  read(document: CatalogDocument): AsyncIterable<CatalogFile>;
}

/** Where the facts about a file stand in the records of one kind of catalog. */
export interface CatalogRecordLayout {
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
    place: where,
    digests: { crc32: parseEntryCrc32(value[fields.crc], `${where}: ${fields.crc}`) },
  };
}
