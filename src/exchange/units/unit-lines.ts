import { createJsonLinesReader, jsonLine, type JsonObject } from '../jsonl/json-lines.ts';
import { readUnit } from './read-unit.ts';
import type { UnitLanguages, UnitReader, UnitWriter } from './unit-record.ts';

const JSONL_FORMAT = 'slipway-units-1';

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

/** Makes a reader of one unit a line. The first line of our own files names the languages. */
export function createJsonlReader(): UnitReader {
  const reader = createJsonLinesReader({
    format: JSONL_FORMAT,
    counted: 'units',
    itemKey: 'unit_id',
    read: readUnit,
  });
  return { ...reader, languages: () => languagesOf(reader.header() ?? {}) };
}

function languagesOf({
  source_language: source,
  target_language: target,
}: JsonObject): Partial<UnitLanguages> {
  return {
    ...(typeof source === 'string' ? { sourceLanguage: source } : {}),
    ...(typeof target === 'string' ? { targetLanguage: target } : {}),
  };
}
