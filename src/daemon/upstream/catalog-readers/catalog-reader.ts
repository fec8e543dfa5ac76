import type { UpstreamEntry } from '../upstream.ts';

/** Options that decide the names of the catalogs of a reader. */
export interface CatalogReaderOptions {
  /** As configured, spelled as in upstream's paths: `Android`, `iOS`, `Windows`. */
  readonly platforms: readonly string[];
}

/** One catalog that a reader wants. */
export interface CatalogChoice {
  /** Paths below the catalog root, best first; the first that exists is read, the others are left alone. */
  readonly paths: readonly [string, ...string[]];
  /** Files below the catalog root that belong to the catalog and that no catalog lists; each is optional. */
  readonly beside?: readonly string[];
}

/** One catalog as fetched. */
export interface CatalogDocument {
  /** The path of the choice that existed. */
  readonly path: string;
  /** Names the document in messages. */
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
