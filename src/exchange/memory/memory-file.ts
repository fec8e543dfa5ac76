import type { TmxUnit, WrittenMemoryRecord } from '../tmx/tmx-record.ts';

/** Reads the records of a file piece by piece. */
export interface MemoryReader {
  /** @throws ExchangeFileError with line and reason; nothing of the file counts */
  write(bytes: Uint8Array): readonly TmxUnit[];
  /** The rest. @throws ExchangeFileError when the file is cut off */
  end(): readonly TmxUnit[];
}

/** Writes a file of records piece by piece. */
export interface MemoryWriter {
  begin(): string;
  /** @throws ExchangeFileError `character_unsupported` when the format cannot carry the record; nothing is written then */
  write(record: WrittenMemoryRecord): string;
  end(): string;
}
