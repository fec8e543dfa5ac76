import type { ReadTermResult } from '../../contract/formats/glossary/read-term.ts';
import { termTable } from '../../contract/formats/glossary/term-table.ts';
import type { LanguagePair } from '../../domain/glossary/term.ts';
import { createTableReader } from '../csv/table-file.ts';
import type { FileReader, FileWriter } from '../file-codec.ts';
import type { WrittenTerm } from './exchanged-term.ts';
import { createTbxReader } from './tbx/read-tbx.ts';
import { createTbxWriter } from './tbx/write-tbx.ts';
import { createTermCsvWriter } from './term-csv.ts';

interface TermFormat {
  /** Reads the terms of one pair of languages; rows of a table without languages are of that pair. */
  readonly createReader: (pair: LanguagePair) => FileReader<ReadTermResult>;
  /** @param version of the program that writes */
  readonly createWriter: (pair: LanguagePair, version: string) => FileWriter<WrittenTerm>;
}

/** The formats of terms in exchange; each is also the ending of its file names. */
export const TERM_FORMATS = {
  tbx: { createReader: createTbxReader, createWriter: createTbxWriter },
  csv: { createReader: (pair) => createTableReader(termTable(pair)), createWriter: createTermCsvWriter },
} as const satisfies Record<string, TermFormat>;

/** One of {@link TERM_FORMATS}. */
export type TermFormatName = keyof typeof TERM_FORMATS;
/** The names of the formats. */
export const TERM_FORMAT_NAMES = ['tbx', 'csv'] as const satisfies readonly TermFormatName[];
