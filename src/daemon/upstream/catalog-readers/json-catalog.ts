import { readCatalogMembers } from './catalog-document.ts';
import { invalidEntry, isRecord } from '../entry-rules.ts';
import type { CatalogDocument, CatalogFile } from './catalog-reader.ts';
import { parseCatalogRecord, type CatalogRecordLayout } from './catalog-record.ts';

/** How a JSON catalog is laid out. */
export interface JsonCatalogLayout extends CatalogRecordLayout {
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
