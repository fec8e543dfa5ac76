import { setImmediate as nextTurn } from 'node:timers/promises';
import { UpstreamError } from '../upstream.ts';
import { readSmallDocument } from './catalog-document.ts';
import type { CatalogDocument, CatalogFile } from './catalog-reader.ts';
import { parseCatalogRecord, type CatalogRecordLayout } from './catalog-record.ts';
import { findExtraMembers } from '../../formats/memorypack/extra-members.ts';
import { MemoryPackError } from '../../formats/memorypack/memory-pack-cursor.ts';
import type { ObjectLayout } from '../../formats/memorypack/memory-pack-layout.ts';
import { readMemoryPack } from '../../formats/memorypack/read-memory-pack.ts';

/** Largest catalog in MemoryPack: it is read whole, because its lengths are checked against the bytes that are left. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Files listed between two turns of the event loop. */
const FILES_PER_TURN = 2000;

/**
 * Lists the files of a MemoryPack catalog whose records have a path, a size and a CRC-32. Backslashes in paths become
 * `/`. Members that the layout does not know, null collections and bytes behind the catalog are skipped.
 *
 * @throws UpstreamError `catalog_invalid` with the byte at which the catalog is damaged, `catalog_too_large`, or
 *   `destination_invalid`
 */
export async function* readMemoryPackCatalog(
  document: CatalogDocument,
  root: ObjectLayout,
  layout: CatalogRecordLayout,
): AsyncGenerator<CatalogFile, void> {
  const { label } = document;
  const bytes = await readSmallDocument(document.chunks, label, MAX_BYTES);
  try {
    const extras = await findExtraMembers(bytes, root);
    let listed = 0;
    for (const element of readMemoryPack(bytes, root, extras)) {
      if (element === null) {
        await nextTurn();
        continue;
      }
      const where = `${label}: ${element.container}, record at byte ${element.offset}`;
      yield parseCatalogRecord(element.values, layout, where);
      listed += 1;
      if (listed % FILES_PER_TURN === 0) await nextTurn();
    }
  } catch (error) {
    if (!(error instanceof MemoryPackError)) throw error;
    throw new UpstreamError(
      'catalog_invalid',
      `${label} is damaged or has an unknown format: ${error.message}`,
      {
        retryable: false,
        cause: error,
      },
    );
  }
}
