import { createJsonLinesReader, type JsonObject } from '../../jsonl/json-lines.ts';
import { readUnit } from '../read-unit.ts';
import type { UnitLanguages, UnitReader } from '../unit-record.ts';
import { JSONL_FORMAT } from './write-jsonl.ts';

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
