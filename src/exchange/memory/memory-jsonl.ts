import { MEMORY_STATES } from '../../contract/schemas/vocabulary.ts';
import { createJsonLinesReader, jsonLine, type JsonObject } from '../jsonl/json-lines.ts';
import {
  TMX_PROVENANCE,
  type ReadMemoryRecord,
  type TmxUnit,
  type WrittenMemoryRecord,
} from '../tmx/tmx-record.ts';
import { MAX_TEXT_CHARACTERS } from '../../contract/formats/text-limit.ts';
import type { FileReader, FileWriter } from '../file-codec.ts';

const FORMAT = 'slipway-memory-1';
const MAX_CONTEXT_KEYS = 64;

class ValueError extends Error {}

/** Makes a writer of one record a line. It carries every text. */
export function createMemoryJsonlWriter(): FileWriter<WrittenMemoryRecord> {
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
export function createMemoryJsonlReader(): FileReader<TmxUnit> {
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
  const [provider, provider_run_id, task_id, unit_id, release_id] = TMX_PROVENANCE.map(
    (name) => textOf(provenance, name) ?? null,
  );
  const state = textOf(value, 'state');
  return {
    record_id: textOf(value, 'record_id'),
    state: MEMORY_STATES.find((known) => known === state) ?? null,
    source_language: needed(value, 'source_language'),
    target_language: needed(value, 'target_language'),
    source_text: needed(value, 'source_text'),
    target_text: needed(value, 'target_text'),
    context: contextOf(value),
    provenance: {
      provider: provider ?? null,
      provider_run_id: provider_run_id ?? null,
      task_id: task_id ?? null,
      unit_id: unit_id ?? null,
      release_id: release_id ?? null,
    },
    reviewer: textOf(value, 'reviewer'),
    line,
  };
}

function needed(value: JsonObject, name: string): string {
  const text = textOf(value, name);
  if (text === null) throw new ValueError(`the value of ${name} is missing`);
  return text;
}

function textOf(value: JsonObject, name: string): string | null {
  const text = value[name] ?? null;
  if (text === null) return null;
  if (typeof text !== 'string') throw new ValueError(`the value of ${name} is not a text`);
  if (text.length <= MAX_TEXT_CHARACTERS) return text;
  throw new ValueError(`the value of ${name} has more than ${MAX_TEXT_CHARACTERS} characters`);
}

function objectOf(value: JsonObject, name: string): JsonObject {
  const object = value[name] ?? {};
  if (typeof object === 'object' && !Array.isArray(object)) return object as JsonObject;
  throw new ValueError(`the value of ${name} is not an object`);
}

function contextOf(value: JsonObject): Readonly<Record<string, string>> {
  const context = objectOf(value, 'context');
  const keys = Object.keys(context);
  if (keys.length > MAX_CONTEXT_KEYS) throw new ValueError(`context has more than ${MAX_CONTEXT_KEYS} keys`);
  return Object.fromEntries(keys.map((key) => [key, textOf(context, key) ?? '']));
}
