import { jsonLine } from '../../jsonl/json-lines.ts';
import type { UnitLanguages, UnitWriter } from '../unit-record.ts';

/** The name of the format in the first line. */
export const JSONL_FORMAT = 'slipway-units-1';

/** Makes a writer of one JSON object a line. It carries every text, also lone surrogates, as escapes. */
export function createJsonlWriter({ sourceLanguage, targetLanguage }: UnitLanguages): UnitWriter {
  let units = 0;
  return {
    begin: () =>
      jsonLine({ format: JSONL_FORMAT, source_language: sourceLanguage, target_language: targetLanguage }),
    write(record) {
      units += 1;
      return jsonLine(record);
    },
    end: () => jsonLine({ end: true, units }),
  };
}
