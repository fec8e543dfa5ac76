import { ExchangeFileError } from '../contract/formats/exchange-file-error.ts';

export interface FileReader<T, Rest extends Iterable<T> | AsyncIterable<T> = T[]> {
  /** The items that are complete. @throws ExchangeFileError with line and reason; nothing of the file counts */
  write(bytes: Uint8Array): T[];
  /** The rest. @throws ExchangeFileError when the file is cut off */
  end(): Rest;
}

/** Gives the parts of a file: texts, or what another step packs. */
export interface FileWriter<Entry, Part = string> {
  begin(): Part;
  /**
   * An empty text for an entry that a format of texts leaves out.
   *
   * @throws ExchangeFileError `character_unsupported` when the format cannot carry the entry; nothing is written then
   */
  write(entry: Entry): Part;
  end(): Part;
}

export interface EntryCount<Entry> {
  written(): void;
  refused(entry: Entry, message: string): void;
}

export async function* writeEntries<Entry, Part = string>(
  writer: FileWriter<Entry, Part>,
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  count: EntryCount<Entry>,
): AsyncGenerator<Part> {
  yield writer.begin();
  for await (const entry of entries) {
    let part: Part;
    try {
      part = writer.write(entry);
    } catch (error) {
      if (!(error instanceof ExchangeFileError)) throw error;
      count.refused(entry, error.message);
      continue;
    }
    if (part === '') continue;
    count.written();
    yield part;
  }
  yield writer.end();
}
