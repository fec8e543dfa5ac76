import { describe, expect, it } from 'vitest';
import { ExchangeFileError } from '../../../../src/contract/formats/exchange-file-error.ts';
import { MEMORY_FORMATS } from '../../../../src/exchange/memory/memory-formats.ts';
import type { TmxUnit, WrittenMemoryRecord } from '../../../../src/exchange/tmx/tmx-record.ts';
import { mutations } from '../../../support/mutate.ts';

const RECORD: WrittenMemoryRecord = {
  record_id: 'tm_1',
  state: 'trusted',
  source_language: 'ja',
  target_language: 'zh-Hans',
  source_text: 'はい\n\u0001\uFFFE',
  target_text: '是',
  context: { speaker: 'アロナ' },
  provenance: {
    origin: 'worker',
    provider: 'fixture',
    provider_run_id: null,
    task_id: null,
    unit_id: 'tu1_a',
    release_id: null,
  },
  reviewer: 'mika',
  created_at: 1,
  confirmed_at: 2,
};

function fileOf(records: readonly WrittenMemoryRecord[]): string {
  const writer = MEMORY_FORMATS.jsonl.createWriter();
  return writer.begin() + records.map((record) => writer.write(record)).join('') + writer.end();
}

function read(file: string | Uint8Array, pieceBytes = 7): TmxUnit[] {
  const bytes = Buffer.from(file);
  const reader = MEMORY_FORMATS.jsonl.createReader();
  const units: TmxUnit[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    units.push(...reader.write(bytes.subarray(at, at + pieceBytes)));
  }
  return [...units, ...reader.end()];
}

describe('records as JSON lines', () => {
  it('come back as they were written, in any pieces', () => {
    const { created_at: _c, confirmed_at: _f, provenance, ...values } = RECORD;
    const { origin: _o, ...kept } = provenance;
    expect(read(fileOf([RECORD]))).toEqual([
      { kind: 'records', records: [{ ...values, provenance: kept, line: 2 }] },
    ]);
  });

  it('need languages and texts; a line without them is a problem of its own', () => {
    const needed = { source_language: 'ja', target_language: 'en', source_text: 'a', target_text: 'b' };
    const lines = [
      needed,
      { ...needed, target_text: undefined },
      { ...needed, source_text: 1 },
      { ...needed, context: { a: 1 } },
      { ...needed, context: [] },
      { ...needed, provenance: 'x' },
    ];
    const units = read(lines.map((line) => JSON.stringify(line)).join('\n'));
    expect(units.map(({ kind }) => kind)).toEqual(['records', ...Array<string>(5).fill('problem')]);
  });

  it('are refused with line and reason when the file is cut off or is not JSON', () => {
    const file = fileOf([RECORD, RECORD]);
    for (const cut of [file.split('\n').slice(0, 2).join('\n'), file.slice(0, -10), `${file}{}\n`]) {
      expect(() => read(cut)).toThrow(ExchangeFileError);
    }
  });

  it('are read or refused when the file is damaged: 2,000 mutations', () => {
    const original = Buffer.from(fileOf([RECORD, { ...RECORD, record_id: 'tm_2' }]));
    let refused = 0;
    for (const mutation of mutations(original, { seed: 15, count: 2000 })) {
      try {
        read(mutation, 4096);
      } catch (error) {
        if (!(error instanceof ExchangeFileError)) throw error;
        expect(error.line).toBeGreaterThan(0);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(500);
  });
});
