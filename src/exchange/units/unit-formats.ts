import { endingOf } from '../file-codec.ts';
import { createJsonlReader, createJsonlWriter } from './unit-lines.ts';
import { createCsvReader, createCsvWriter } from './unit-table.ts';
import type { ReadResult, UnitLanguages, UnitReader, UnitWriter } from './unit-record.ts';
import { createXliffReader } from './xliff/read-xliff.ts';
import { createXliffOneWriter, createXliffTwoWriter } from './xliff/write-xliff.ts';

interface UnitFormat {
  readonly extension: string;
  readonly createReader: () => UnitReader;
  readonly createWriter: (languages: UnitLanguages) => UnitWriter;
}

/** The formats of units in exchange. */
export const UNIT_FORMATS = {
  'xliff-2.1': { extension: 'xlf', createReader: createXliffReader, createWriter: createXliffTwoWriter },
  'xliff-1.2': { extension: 'xlf', createReader: createXliffReader, createWriter: createXliffOneWriter },
  csv: { extension: 'csv', createReader: createCsvReader, createWriter: createCsvWriter },
  jsonl: { extension: 'jsonl', createReader: createJsonlReader, createWriter: createJsonlWriter },
} as const satisfies Record<string, UnitFormat>;

/** One of {@link UNIT_FORMATS}. */
export type UnitFormatName = keyof typeof UNIT_FORMATS;

/** XLIFF is written as 1.2, which most programs read; its reader takes both versions. */
const BY_ENDING: ReadonlyMap<string, UnitFormatName> = new Map([
  ['xlf', 'xliff-1.2'],
  ['xliff', 'xliff-1.2'],
  ['csv', 'csv'],
  ['jsonl', 'jsonl'],
]);

/** The format that the ending of a file's name says; `null` for another ending. */
export function unitFormatOfName(name: string): UnitFormatName | null {
  return BY_ENDING.get(endingOf(name)) ?? null;
}

/**
 * Reads the units of a file one by one. A file that is refused later gave units before: use them only after the end.
 *
 * @throws ExchangeFileError with line and reason
 */
export async function* readUnits(
  format: UnitFormatName,
  file: AsyncIterable<Uint8Array>,
): AsyncGenerator<ReadResult> {
  const reader = UNIT_FORMATS[format].createReader();
  for await (const bytes of file) yield* reader.write(bytes);
  yield* reader.end();
}
