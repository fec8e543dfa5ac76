import { bundleDownloadInfoReader } from './bundle-download-info.ts';
import { bundlePackingInfoReader } from './bundle-packing-info.ts';
import type { CatalogReader } from './catalog-reader.ts';
import { mediaCatalogReader } from './media-catalog.ts';
import { tableCatalogReader } from './table-catalog.ts';

/** The catalog readers that come with the daemon; a new one is added here. */
export const knownCatalogReaders: readonly CatalogReader[] = [
  tableCatalogReader,
  mediaCatalogReader,
  bundlePackingInfoReader,
  bundleDownloadInfoReader,
];
