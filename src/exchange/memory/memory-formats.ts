import { createTmxReader } from '../tmx/read-tmx.ts';
import { createTmxWriter } from '../tmx/write-tmx.ts';
import type { FileReader, FileWriter } from '../file-codec.ts';
import type { TmxUnit, WrittenMemoryRecord } from '../tmx/tmx-record.ts';
import { createMemoryJsonlReader, createMemoryJsonlWriter } from './memory-jsonl.ts';

interface MemoryFormat {
  readonly createReader: () => FileReader<TmxUnit>;
  /** @param sourceLanguage of most records */
  readonly createWriter: (sourceLanguage: string, version: string) => FileWriter<WrittenMemoryRecord>;
}

/** The formats of Translation Memory records in exchange; each is also the ending of its file names. */
export const MEMORY_FORMATS = {
  tmx: { createReader: createTmxReader, createWriter: createTmxWriter },
  jsonl: { createReader: createMemoryJsonlReader, createWriter: createMemoryJsonlWriter },
} as const satisfies Record<string, MemoryFormat>;

type MemoryFormatName = keyof typeof MEMORY_FORMATS;
/** The names of the formats. */
export const MEMORY_FORMAT_NAMES = ['tmx', 'jsonl'] as const satisfies readonly MemoryFormatName[];
