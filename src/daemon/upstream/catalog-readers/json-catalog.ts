import { readCatalogMembers } from './catalog-document.ts';
import {
  invalidEntry,
  isRecord,
  parseEntryCrc32,
  parseEntryDestination,
  parseEntrySize,
} from '../entry-rules.ts';
import type { CatalogDocument, CatalogFile } from './catalog-reader.ts';

/** How the records of one kind of catalog are laid out. */
export interface JsonCatalogLayout {
  /** Keys of the document that hold the records, as array or as object. */
  readonly containers: readonly string[];
  /** Keys of a record. */
  readonly fields: { readonly path: string; readonly size: string; readonly crc: string };
  /** Folder of the files below the catalog root, with a trailing slash. */
  readonly folder: string;
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
  for await (const batch of readCatalogMembers(document.chunks, label, layout.containers)) {
    for (const member of batch) {
      const container = member.kind === 'element' ? `${member.container}, ` : '';
      if (member.kind === 'value' && !isBareRecord(member.value, layout)) continue;
      yield parseRecord(member.value, layout, `${label}: ${container}record ${index}`);
      found = true;
      index += 1;
    }
  }
  if (!found && layout.bare) throw invalidEntry(label, 'it lists no files');
}

function isBareRecord(value: unknown, layout: JsonCatalogLayout): boolean {
  return layout.bare && isRecord(value) && layout.fields.path in value;
}

function parseRecord(value: unknown, layout: JsonCatalogLayout, where: string): CatalogFile {
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
