import type { ReportBodyOf } from '../../../contract/reports/reports.ts';
import type { LanguagePair, MemoryRecord, MemoryState } from '../../../domain/memory/memory-record.ts';
import { soleTokenOf, type TargetAuthor } from '../../../domain/translation/four-eyes.ts';
import type { ReadableDatabase } from '../../other-database.ts';
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

export interface MemoryReads {
  page(query: RecordPageQuery): RecordPage;
  record(recordId: string): MemoryRecord | null;
  /** The changes of a record, the oldest first. */
  history(recordId: string): readonly HistoryEntry[];
  /** The token that alone wrote and confirmed each record, in the order of the ids; `null` for a record without one. */
  soleTokens(recordIds: readonly string[]): readonly (string | null)[];
  counts(): MemoryCounts;
  /** The first groups, ordered by identity. */
  conflicts(limit: number): MemoryConflicts;
}

/** Most records of one group in a report. */
const MOST_OF_GROUP = 1000;

export function createMemoryReads(database: ReadableDatabase): MemoryReads {
  const byId = database.prepare(`${RECORDS} WHERE record_id = ?`);
  const history = database.prepare(
    `SELECT h.at, h.action, h.from_state, h.to_state, h.reviewer, h.token_id, h.reason, h.other_record_id
     FROM record_history h JOIN record r USING (id) WHERE r.record_id = ? ORDER BY h.number`,
  );
  const tally = database.prepare(
    `SELECT p.source_language, p.target_language, t.state, t.records FROM tally t JOIN pair p USING (pair_id)
     ORDER BY p.source_language, p.target_language, t.state`,
  );
  const conflictCount = database.prepare('SELECT count(*) AS groups FROM conflict');
  const conflicts = database.prepare('SELECT identity FROM conflict ORDER BY identity LIMIT ?');
  const trusted = database.prepare(
    `${RECORDS} WHERE identity = ? AND state = 'trusted' ORDER BY record_id LIMIT ${MOST_OF_GROUP}`,
  );
  const page = database.prepare(
    `${RECORDS} WHERE r.id > ? AND p.source_language = ? AND p.target_language = ? ORDER BY r.id LIMIT ?`,
  );
  const groups = (): number => Number(conflictCount.get()?.['groups']);
  return {
    page: ({ after, source_language, target_language, states, limit }) => {
      const rows = page.all(after, source_language, target_language, limit);
      const last = rows.length < limit ? undefined : rows.at(-1);
      const records = rows.map(recordOf).filter(({ state }) => states.includes(state));
      return { records, next: last === undefined ? null : Number(last['id']) };
    },
    record: (id) => {
      const row = byId.get(id);
      return row === undefined ? null : recordOf(row);
    },
    history: (id) => history.all(id).map(historyEntryOf),
    soleTokens: createSoleTokens(database),
    counts: () => {
      const counts = { candidate: 0, trusted: 0, superseded: 0, rejected: 0, conflict_groups: groups() };
      const pairs = new Map<string, Summary['pairs'][number]>();
      for (const row of tally.all()) {
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
    },
    conflicts: (limit) => ({
      total: groups(),
      groups: conflicts.all(limit).flatMap(({ identity }) => {
        const records = trusted.all(identity as Uint8Array).map(recordOf);
        const [first] = records;
        if (first === undefined) return [];
        return [
          { identity: first.identity, source_text: first.source_text, context: first.context, records },
        ];
      }),
    }),
  };
}

function createSoleTokens(database: ReadableDatabase): MemoryReads['soleTokens'] {
  const authorOf = database.prepare(
    'SELECT id, author_kind AS kind, author_token_id FROM record WHERE record_id = ?',
  );
  const confirmed = database.prepare(
    `SELECT DISTINCT token_id FROM record_history WHERE id = ? AND action = 'confirm' AND token_id IS NOT NULL`,
  );
  return (recordIds) =>
    recordIds.map((recordId) => {
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
