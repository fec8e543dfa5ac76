import type { CatalogDocument, CatalogFile } from './catalog-reader.ts';
import { readJsonCatalog, type JsonCatalogLayout } from './json-catalog.ts';
import { readMemoryPackCatalog } from './memory-pack-catalog.ts';
import type { ObjectLayout } from '../../formats/memorypack/memory-pack-layout.ts';

/** The layouts of a catalog that upstream publishes as MemoryPack, and published as JSON before. */
export interface PackedOrJsonLayout extends JsonCatalogLayout {
  /** The object at the root of the MemoryPack document. */
  readonly packed: ObjectLayout;
}

/**
 * Lists the files of a catalog. A path that ends in `.bytes` is MemoryPack, any other is JSON.
 *
 * @throws UpstreamError `catalog_invalid`, `catalog_too_large` or `destination_invalid`
 */
export function readPackedOrJsonCatalog(
  document: CatalogDocument,
  layout: PackedOrJsonLayout,
): AsyncGenerator<CatalogFile, void> {
  return document.path.endsWith('.bytes')
    ? readMemoryPackCatalog(document, layout.packed, layout)
    : readJsonCatalog(document, layout);
}
