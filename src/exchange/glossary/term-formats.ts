import type { LanguagePair } from '../../domain/glossary/term.ts';
import { createTermCsvReader } from './csv/read-csv.ts';
import { createTermCsvWriter } from './csv/write-csv.ts';
import type { TermFileOptions, TermReader, TermWriter } from './exchanged-term.ts';
import { createTbxReader } from './tbx/read-tbx.ts';
import { createTbxWriter } from './tbx/write-tbx.ts';

interface TermFormat {
  readonly createReader: (pair: LanguagePair) => TermReader;
  readonly createWriter: (options: TermFileOptions) => TermWriter;
}

/** The formats of terms in exchange; each is the ending of its file names, too. */
export const TERM_FORMATS = {
  tbx: { createReader: createTbxReader, createWriter: createTbxWriter },
  csv: { createReader: createTermCsvReader, createWriter: () => createTermCsvWriter() },
} as const satisfies Record<string, TermFormat>;

/** One of {@link TERM_FORMATS}. */
export type TermFormatName = keyof typeof TERM_FORMATS;
/** The names of the formats. */
export const TERM_FORMAT_NAMES = ['tbx', 'csv'] as const satisfies readonly TermFormatName[];
