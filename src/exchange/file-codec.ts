import { ExchangeFileError } from '../contract/formats/exchange-file-error.ts';

export interface FileReader<T> {
  /** The items that are complete. @throws ExchangeFileError with line and reason; nothing of the file counts */
  write(bytes: Uint8Array): T[];
  /** The rest. @throws ExchangeFileError when the file is cut off */
  end(): T[];
}

export interface FileWriter<Entry> {
  begin(): string;
  /**
   * Empty for an entry that the format leaves out.
   *
   * @throws ExchangeFileError `character_unsupported` when the format cannot carry the entry; nothing is written then
   */
  write(entry: Entry): string;
  end(): string;
}

interface EntryCount<Entry> {
  written(): void;
  refused(entry: Entry, message: string): void;
}

export async function* writeEntries<Entry>(
  writer: FileWriter<Entry>,
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  count: EntryCount<Entry>,
): AsyncGenerator<string> {
  yield writer.begin();
  for await (const entry of entries) {
    let text: string;
    try {
      text = writer.write(entry);
    } catch (error) {
      if (!(error instanceof ExchangeFileError)) throw error;
      count.refused(entry, error.message);
      continue;
    }
    if (text === '') continue;
    count.written();
    yield text;
  }
  yield writer.end();
}
