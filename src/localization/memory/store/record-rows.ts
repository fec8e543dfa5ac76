import type { MatchRecord } from '../../../domain/memory/memory-match.ts';
import type { MemoryProvenance, MemoryRecord, MemoryState } from '../../../domain/memory/memory-record.ts';

type Row = Readonly<Record<string, unknown>>;

export const MATCH_COLUMNS =
  'r.record_id, r.state, r.source_text, r.target_text, r.context_key, r.is_default';

/** The columns of a whole record, with the table of pairs joined. */
export const RECORDS = `SELECT r.*, p.source_language, p.target_language FROM record r JOIN pair p USING (pair_id)`;

export function matchRecordOf(row: Row): MatchRecord {
  return {
    record_id: row['record_id'] as string,
    state: row['state'] as MemoryState,
    source_text: row['source_text'] as string,
    target_text: row['target_text'] as string,
    context_key: row['context_key'] as string,
    is_default: row['is_default'] === 1,
  };
}

export function recordOf(row: Row): MemoryRecord {
  return {
    ...matchRecordOf(row),
    source_language: row['source_language'] as string,
    target_language: row['target_language'] as string,
    context: JSON.parse(row['context'] as string) as Record<string, string>,
    identity: Buffer.from(row['identity'] as Uint8Array).toString('hex'),
    provenance: {
      origin: row['origin'] as MemoryProvenance['origin'],
      provider: textOrNull(row, 'provider'),
      provider_run_id: textOrNull(row, 'provider_run_id'),
      task_id: textOrNull(row, 'task_id'),
      unit_id: textOrNull(row, 'unit_id'),
      release_id: textOrNull(row, 'release_id'),
    },
    reviewer: textOrNull(row, 'reviewer'),
    reason: textOrNull(row, 'reason'),
    supersedes: textOrNull(row, 'supersedes'),
    superseded_by: textOrNull(row, 'superseded_by'),
    created_at: row['created_at'] as number,
    confirmed_at: numberOrNull(row, 'confirmed_at'),
    use_count: row['use_count'] as number,
    last_used_at: numberOrNull(row, 'last_used_at'),
  };
}

function textOrNull(row: Row, column: string): string | null {
  return row[column] as string | null;
}

function numberOrNull(row: Row, column: string): number | null {
  return row[column] as number | null;
}
