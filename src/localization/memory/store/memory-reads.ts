import type { ReportBodyOf } from '../../../contract/reports/reports.ts';
import type { LanguagePair, MemoryRecord, MemoryState } from '../../../domain/memory/memory-record.ts';
import { soleTokenOf, type TargetAuthor } from '../../../domain/translation/four-eyes.ts';
import type { OpenMemory } from './memory-database.ts';
import { RECORDS, recordOf } from './record-rows.ts';

type Summary = ReportBodyOf<'translation.memory.summary'>;

export interface MemoryCounts {
  readonly counts: Summary['counts'];
  readonly pairs: Summary['pairs'];
}

/** Conflicts: groups of trusted records with one identity and several targets. */
export interface MemoryConflicts {
  readonly total: number;
  readonly groups: ReportBodyOf<'translation.memory.conflicts'>['groups'];
}

export interface HistoryEntry {
  /** Unix seconds. */
  readonly at: number;
  readonly action: string;
  readonly from: MemoryState;
  readonly to: MemoryState;
  readonly reviewer: string | null;
  readonly token_id: string | null;
  readonly reason: string | null;
  readonly other_record_id: string | null;
}

/** A part of the records of a pair of languages, in the order in which they were made. */
export interface RecordPageQuery extends LanguagePair {
  /** The position of the page before; 0 for the first page. */
  readonly after: number;
  readonly states: readonly MemoryState[];
  readonly limit: number;
}

export interface RecordPage {
  readonly records: readonly MemoryRecord[];
  /** For the next page; `null` behind the last one. */
  readonly next: number | null;
}

/** Most records of one group in a report. */
const MOST_OF_GROUP = 1000;

const PAGE = `${RECORDS} WHERE r.id > ? AND p.source_language = ? AND p.target_language = ? ORDER BY r.id LIMIT ?`;
const BY_ID = `${RECORDS} WHERE record_id = ?`;
const TRUSTED = `${RECORDS} WHERE identity = ? AND state = 'trusted' ORDER BY record_id`;

export function recordPage(
  { sql }: OpenMemory,
  { after, source_language, target_language, states, limit }: RecordPageQuery,
): RecordPage {
  const rows = sql(PAGE).all(after, source_language, target_language, limit);
  const last = rows.length < limit ? undefined : rows.at(-1);
  const records = rows.map(recordOf).filter(({ state }) => states.includes(state));
  return { records, next: last === undefined ? null : Number(last['id']) };
}

export function findRecord({ sql }: OpenMemory, recordId: string): MemoryRecord | null {
  const row = sql(BY_ID).get(recordId);
  return row === undefined ? null : recordOf(row);
}

/** The trusted records of an identity, in hexadecimal digits. */
export function trustedRecords({ sql }: OpenMemory, identity: string): MemoryRecord[] {
  return sql(TRUSTED).all(Buffer.from(identity, 'hex')).map(recordOf);
}

/** The changes of a record, the oldest first. */
export function recordHistory({ sql }: OpenMemory, recordId: string): readonly HistoryEntry[] {
  const rows = sql(
    `SELECT h.at, h.action, h.from_state, h.to_state, h.reviewer, h.token_id, h.reason, h.other_record_id
     FROM record_history h JOIN record r USING (id) WHERE r.record_id = ? ORDER BY h.number`,
  );
  return rows.all(recordId).map(historyEntryOf);
}

export function countRecords(memory: OpenMemory): MemoryCounts {
  const counts = {
    candidate: 0,
    trusted: 0,
    superseded: 0,
    rejected: 0,
    conflict_groups: countConflicts(memory),
  };
  const pairs = new Map<string, Summary['pairs'][number]>();
  const rows = memory.sql(
    `SELECT p.source_language, p.target_language, t.state, t.records FROM tally t JOIN pair p USING (pair_id)
     ORDER BY p.source_language, p.target_language, t.state`,
  );
  for (const row of rows.all()) {
    const [source_language, target_language] = [
      String(row['source_language']),
      String(row['target_language']),
    ];
    const [state, records] = [row['state'] as MemoryState, Number(row['records'])];
    const key = JSON.stringify([source_language, target_language]);
    const pair = pairs.get(key) ?? { source_language, target_language, counts: {} };
    pairs.set(key, { ...pair, counts: { ...pair.counts, [state]: records } });
    counts[state] += records;
  }
  return { counts, pairs: [...pairs.values()] };
}

/** The first groups, ordered by identity. */
export function readConflicts(memory: OpenMemory, limit: number): MemoryConflicts {
  const { sql } = memory;
  const identities = sql('SELECT identity FROM conflict ORDER BY identity LIMIT ?').all(limit);
  const groups = identities.flatMap(({ identity }) => {
    const records = sql(`${TRUSTED} LIMIT ${MOST_OF_GROUP}`)
      .all(identity as Uint8Array)
      .map(recordOf);
    const [first] = records;
    if (first === undefined) return [];
    return [{ identity: first.identity, source_text: first.source_text, context: first.context, records }];
  });
  return { total: countConflicts(memory), groups };
}

function countConflicts({ sql }: OpenMemory): number {
  return Number(sql('SELECT count(*) AS groups FROM conflict').get()?.['groups']);
}

/** The token that alone wrote and confirmed each record, in the order of the ids; `null` for a record without one. */
export function soleTokens({ sql }: OpenMemory, recordIds: readonly string[]): readonly (string | null)[] {
  const authorOf = sql('SELECT id, author_kind AS kind, author_token_id FROM record WHERE record_id = ?');
  const confirmed = sql(
    `SELECT DISTINCT token_id FROM record_history WHERE id = ? AND action = 'confirm' AND token_id IS NOT NULL`,
  );
  return recordIds.map((recordId) => {
    const row = authorOf.get(recordId);
    if (row === undefined) return null;
    const kind = row['kind'] as TargetAuthor['kind'] | null;
    return soleTokenOf({
      author: kind === null ? null : { kind, tokenId: row['author_token_id'] as string | null },
      confirmedBy: confirmed.all(Number(row['id'])).map((entry) => String(entry['token_id'])),
    });
  });
}

function historyEntryOf(row: Readonly<Record<string, unknown>>): HistoryEntry {
  return {
    at: row['at'] as number,
    action: row['action'] as string,
    from: row['from_state'] as MemoryState,
    to: row['to_state'] as MemoryState,
    reviewer: row['reviewer'] as string | null,
    token_id: row['token_id'] as string | null,
    reason: row['reason'] as string | null,
    other_record_id: row['other_record_id'] as string | null,
  };
}
