import { isRecord } from '../../domain/is-record.ts';
import {
  parseCatalogRecord,
  type CatalogDocument,
  type CatalogFile,
  type CatalogRecordLayout,
} from './catalog-reader.ts';
import type { ObjectLayout } from '../../formats/memorypack/memory-pack-layout.ts';
import { readCatalogMembers, readSmallDocument } from './catalog-document.ts';
import { invalidEntry } from '../entry-rules.ts';
import { UpstreamError } from '../upstream.ts';
import { findExtraMembers } from '../../formats/memorypack/extra-members.ts';
import { MemoryPackError } from '../../formats/memorypack/memory-pack-cursor.ts';
import { readMemoryPack } from '../../formats/memorypack/read-memory-pack.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';

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

interface JsonCatalogLayout extends CatalogRecordLayout {
  /** Keys of the document that hold the records, as array, as object or `null`. */
  readonly containers: readonly string[];
  /** Whether a document without any of the containers is itself the map of records. */
  readonly bare: boolean;
}

/**
 * Lists the files of a JSON catalog whose records have a path, a size and a CRC-32. Backslashes in paths become `/`.
 *
 * @throws UpstreamError `catalog_invalid` or `destination_invalid`
 */
export async function* readJsonCatalog(
  document: CatalogDocument,
  layout: JsonCatalogLayout,
): AsyncGenerator<CatalogFile, void> {
  const { label } = document;
  let found = false;
  let index = 0;
  for await (const batch of readCatalogMembers(document.chunks, label, layout.containers, true)) {
    for (const member of batch) {
      const container = member.kind === 'element' ? `${member.container}, ` : '';
      if (member.kind === 'value' && !isBareRecord(member.value, layout)) continue;
      yield parseCatalogRecord(member.value, layout, `${label}: ${container}record ${index}`);
      found = true;
      index += 1;
    }
  }
  if (!found && layout.bare) throw invalidEntry(label, 'it lists no files');
}

function isBareRecord(value: unknown, layout: JsonCatalogLayout): boolean {
  return layout.bare && isRecord(value) && layout.fields.path in value;
}

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
async function* readMemoryPackCatalog(
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
      { cause: error },
    );
  }
}
