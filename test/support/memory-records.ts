import { onTestFinished } from 'vitest';
import { MemoryFiles, type MemoryPaths } from '../../src/localization/memory/store/memory-files.ts';
import type { MemoryLookup } from '../../src/localization/memory/store/memory-lookup.ts';
import { type ProposedRecord, proposeRecords } from '../../src/localization/memory/store/memory-writer.ts';
import { join } from 'node:path';
import type { MemoryRecord } from '../../src/domain/memory/memory-record.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { confirmRecord } from '../../src/localization/memory/store/memory-changes.ts';

/** The languages of the records of tests. */
export const PAIR = { source_language: 'ja', target_language: 'zh-Hans' };

let made = 0;

/** A translation to propose, with an id of its own. */
export function proposal(
  source_text: string,
  target_text: string,
  fields: Partial<ProposedRecord> = {},
): ProposedRecord {
  made += 1;
  return {
    ...PAIR,
    record_id: `tm_${String(made).padStart(26, '0')}`,
    source_text,
    target_text,
    context: {},
    provenance: {
      origin: 'worker',
      provider: 'fixture',
      provider_run_id: null,
      task_id: null,
      unit_id: null,
      release_id: null,
    },
    ...fields,
  };
}

/** A trusted record as it is stored. */
export function memoryRecord(fields: Partial<MemoryRecord> = {}): MemoryRecord {
  const { record_id, source_text, target_text, context, provenance } = proposal('はい', '是');
  return {
    ...PAIR,
    record_id,
    source_text,
    target_text,
    context,
    provenance,
    state: 'trusted',
    context_key: '',
    is_default: false,
    identity: '00'.repeat(32),
    reviewer: 'mika',
    reason: null,
    supersedes: null,
    superseded_by: null,
    created_at: 1,
    confirmed_at: null,
    use_count: 0,
    last_used_at: null,
    ...fields,
  };
}

/** A lookup of everything, without context. */
export function lookup(source_text: string, fields: Partial<MemoryLookup> = {}): MemoryLookup {
  return { ...PAIR, source_text, context: {}, depth: 'all', limit: 100, ...fields };
}

/** Files of a Translation Memory in a folder of their own, closed when the test ends. */
export async function memoryFiles(): Promise<{ readonly files: MemoryFiles; readonly paths: MemoryPaths }> {
  const folder = await temporaryDirectory();
  const paths = { main: join(folder, 'memory.db'), root: join(folder, 'memory') };
  const files = new MemoryFiles(paths);
  onTestFinished(() => {
    files.close();
  });
  return { files, paths };
}

/** Proposes translations and makes them trusted; gives their ids. */
export function trust(files: MemoryFiles, ...proposals: readonly ProposedRecord[]): string[] {
  return files.write(null, (store) => {
    proposeRecords(store, proposals, 100);
    return proposals.map(({ record_id }) => {
      const request = {
        record_id,
        supersede_record_id: null,
        force: true,
        reviewer: 'mika',
        reason: 'test',
        at: 200,
      };
      const confirmed = confirmRecord(store, request);
      if (!confirmed.ok) throw new Error(confirmed.error.message);
      return record_id;
    });
  });
}
