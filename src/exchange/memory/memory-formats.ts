import { createTmxReader } from '../tmx/read-tmx.ts';
import { createTmxWriter } from '../tmx/write-tmx.ts';
import type { FileReader, FileWriter } from '../file-codec.ts';
import { type TmxUnit, readProvenance, type ReadMemoryRecord } from '../tmx/tmx-record.ts';
import type { FormatName } from '../../contract/formats/exchange-formats.ts';
import { MEMORY_STATES } from '../../contract/schemas/vocabulary.ts';
import { contextOf, objectOf, requiredText, textOf, ValueError, type JsonObject } from '../json-values.ts';
import { createJsonLinesReader, jsonLine } from '../jsonl/json-lines.ts';
import type { MemoryRecord } from '../../domain/memory/memory-record.ts';

interface MemoryFormat {
  /** @param sourceLanguage the wanted one, for units that name none */
  readonly createReader: (sourceLanguage: string) => FileReader<TmxUnit>;
  /** @param sourceLanguage of most records */
  readonly createWriter: (sourceLanguage: string, version: string) => FileWriter<MemoryRecord>;
}

/** The readers and writers of records of the Translation Memory. */
export const MEMORY_FORMATS = {
  tmx: { createReader: createTmxReader, createWriter: createTmxWriter },
  jsonl: { createReader: createMemoryJsonlReader, createWriter: createMemoryJsonlWriter },
} as const satisfies Record<FormatName<'memory'>, MemoryFormat>;

const FORMAT = 'slipway-memory-1';

/** Makes a writer of one record a line. It carries every text. */
function createMemoryJsonlWriter(): FileWriter<MemoryRecord> {
  let records = 0;
  return {
    begin: () => jsonLine({ format: FORMAT }),
    write: (record) => {
      records += 1;
      return jsonLine({
        record_id: record.record_id,
        state: record.state,
        source_language: record.source_language,
        target_language: record.target_language,
        source_text: record.source_text,
        target_text: record.target_text,
        context: record.context,
        provenance: record.provenance,
        reviewer: record.reviewer,
        created_at: record.created_at,
        confirmed_at: record.confirmed_at,
      });
    },
    end: () => jsonLine({ end: true, records }),
  };
}

/** Makes a reader of one record a line. A line needs the two languages and the two texts. */
function createMemoryJsonlReader(): FileReader<TmxUnit> {
  return createJsonLinesReader<TmxUnit>({
    format: FORMAT,
    counted: 'records',
    itemKey: 'source_text',
    read: (value, line) => {
      try {
        return { kind: 'records', records: [recordOf(value, line)] };
      } catch (error) {
        if (!(error instanceof ValueError)) throw error;
        return { kind: 'problem', line, message: error.message };
      }
    },
  });
}

function recordOf(value: JsonObject, line: number): ReadMemoryRecord {
  const provenance = objectOf(value, 'provenance');
  const state = textOf(value, 'state');
  return {
    record_id: textOf(value, 'record_id'),
    state: MEMORY_STATES.find((known) => known === state) ?? null,
    source_language: requiredText(value, 'source_language'),
    target_language: requiredText(value, 'target_language'),
    source_text: requiredText(value, 'source_text'),
    target_text: requiredText(value, 'target_text'),
    context: contextOf(value),
    provenance: readProvenance((name) => textOf(provenance, name)),
    reviewer: textOf(value, 'reviewer'),
    line,
  };
}
