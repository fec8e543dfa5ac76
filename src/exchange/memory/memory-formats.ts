import { createTmxReader } from '../tmx/read-tmx.ts';
import { createTmxWriter } from '../tmx/write-tmx.ts';
import type { MemoryReader, MemoryWriter } from './memory-file.ts';
import { createMemoryJsonlReader, createMemoryJsonlWriter } from './memory-jsonl.ts';

interface MemoryFormat {
  readonly createReader: () => MemoryReader;
  /** @param sourceLanguage of most records */
  readonly createWriter: (sourceLanguage: string, version: string) => MemoryWriter;
}

/** The formats of Translation Memory records in exchange; each is the ending of its file names, too. */
export const MEMORY_FORMATS = {
  tmx: { createReader: createTmxReader, createWriter: createTmxWriter },
  jsonl: { createReader: createMemoryJsonlReader, createWriter: () => createMemoryJsonlWriter() },
} as const satisfies Record<string, MemoryFormat>;

/** One of {@link MEMORY_FORMATS}. */
export type MemoryFormatName = keyof typeof MEMORY_FORMATS;
/** The names of the formats. */
export const MEMORY_FORMAT_NAMES = ['tmx', 'jsonl'] as const satisfies readonly MemoryFormatName[];
