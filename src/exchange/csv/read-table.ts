import { createRowReader, type TableOptions } from '../../contract/formats/csv/read-rows.ts';
import { createStreamDecoder } from '../decode-stream.ts';

/** Reads the file of a table piece by piece. */
export interface TableReader<T> {
  /** @throws ExchangeFileError with line and reason */
  write(bytes: Uint8Array): T[];
  /** The rest. @throws ExchangeFileError when the file is cut off */
  end(): T[];
}

/** Makes a reader of the files of tables: UTF-8, or UTF-16 with a byte order mark. */
export function createTableReader<C extends string, T>(options: TableOptions<C, T>): TableReader<T> {
  const decoder = createStreamDecoder();
  const rows = createRowReader(options);
  return {
    write: (bytes) => rows.write(decoder.write(bytes)),
    end: () => [...rows.write(decoder.end()), ...rows.end()],
  };
}
