import { failure, success, type Result } from '../../../domain/result.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import type { MemoryRecord, MemoryState } from '../../../domain/memory/memory-record.ts';
import {
  judgeConfirmation,
  judgeRejection,
  judgeResolution,
  type MemoryRefusal,
} from '../../../domain/memory/transitions.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';
import { RECORDS, recordOf } from './record-rows.ts';
import { createPairIds, createTally } from './memory-writer.ts';
import { sourceKeysOf } from './text-keys.ts';

export interface Confirmation extends Review {
  readonly record_id: string;
  readonly supersede_record_id: string | null;
  readonly force: boolean;
}

export interface ConfirmRequest extends Confirmation, ReviewNote {}

export interface Rejection extends Review {
  readonly record_id: string;
}

export interface RejectRequest extends Rejection, ReviewNote {}

export interface ResolveRequest extends ReviewNote {
  readonly winner_record_id: string;
  readonly expected_trusted_record_ids: readonly string[];
}

export interface ChangedRecord {
  readonly record: MemoryRecord;
  /** `false` when the record was in this state before. */
  readonly changed: boolean;
}

export interface ResolvedConflict {
  readonly winner: MemoryRecord;
  /** Empty when the conflict was resolved this way before. */
  readonly superseded_record_ids: readonly string[];
}

/** Changes of the states of records. Each call is one transaction; a refused one changes nothing. */
export interface MemoryChanges {
  confirm(request: ConfirmRequest): Result<ChangedRecord, MemoryRefusal>;
  /** Confirms several records, each on its own merits, in one transaction. One result for each, in their order. */
  confirmAll(requests: readonly ConfirmRequest[]): readonly Result<ChangedRecord, MemoryRefusal>[];
  reject(request: RejectRequest): Result<ChangedRecord, MemoryRefusal>;
  resolve(request: ResolveRequest): Result<ResolvedConflict, MemoryRefusal>;
}

export function createMemoryChanges(database: Database): MemoryChanges {
  const states = createStateWriter(database);
  const byId = database.prepare(`${RECORDS} WHERE record_id = ?`);
  const trustedOf = database.prepare(
    `${RECORDS} WHERE identity = ? AND state = 'trusted' ORDER BY record_id`,
  );
  const openConflict = database.prepare('INSERT INTO conflict (identity) VALUES (?) ON CONFLICT DO NOTHING');
  const endConflict = database.prepare('DELETE FROM conflict WHERE identity = ?');

  const find = (id: string): MemoryRecord | null => {
    const row = byId.get(id);
    return row === undefined ? null : recordOf(row);
  };
  const trusted = (identity: string): readonly MemoryRecord[] =>
    trustedOf.all(Buffer.from(identity, 'hex')).map(recordOf);
  const refreshConflict = (identity: string): void => {
    const targets = new Set(trusted(identity).map(({ target_text }) => normalText(target_text)));
    (targets.size > 1 ? openConflict : endConflict).run(Buffer.from(identity, 'hex'));
  };
  const changedRecord = (id: string, changed: boolean): Result<ChangedRecord, MemoryRefusal> => {
    const record = find(id);
    return record === null ? unknown(id) : success({ record, changed });
  };

  const confirm = (request: ConfirmRequest): Result<ChangedRecord, MemoryRefusal> => {
    const { record_id, supersede_record_id: supersededId, force, reason } = request;
    const record = find(record_id);
    if (record === null) return unknown(record_id);
    const superseded = supersededId === null ? null : find(supersededId);
    if (supersededId !== null && superseded === null) return unknown(supersededId);
    const rivals = trusted(record.identity);
    const judged = judgeConfirmation({ record, rivals, superseded, force, hasReason: reason !== null });
    if (!judged.ok) return judged;
    if (judged.value.changes) {
      if (superseded !== null) {
        states.change(superseded, { action: 'supersede', to: 'superseded', other: record_id, note: request });
        refreshConflict(superseded.identity);
      }
      states.change(record, { action: 'confirm', to: 'trusted', other: supersededId, note: request });
      refreshConflict(record.identity);
    }
    return changedRecord(record_id, judged.value.changes);
  };

  return {
    confirm: (request) => database.transaction(() => confirm(request)),
    confirmAll: (requests) => database.transaction(() => requests.map(confirm)),
    reject: (request) =>
      database.transaction(() => {
        const record = find(request.record_id);
        if (record === null) return unknown(request.record_id);
        const judged = judgeRejection(record);
        if (!judged.ok) return judged;
        if (judged.value)
          states.change(record, { action: 'reject', to: 'rejected', other: null, note: request });
        return changedRecord(record.record_id, judged.value);
      }),
    resolve: (request) =>
      database.transaction(() => {
        const { winner_record_id: winnerId, expected_trusted_record_ids: expectedIds } = request;
        const expected = expectedIds.map(find).filter((record) => record !== null);
        const winner = expected.find(({ record_id }) => record_id === winnerId);
        const trustedIds =
          winner === undefined ? [] : trusted(winner.identity).map(({ record_id }) => record_id);
        const judged = judgeResolution({ winnerId, expectedIds, expected, trustedIds });
        if (!judged.ok) return judged;
        for (const loser of expected.filter(({ record_id }) => judged.value.includes(record_id))) {
          states.change(loser, { action: 'resolve', to: 'superseded', other: winnerId, note: request });
        }
        if (winner !== undefined) {
          states.makeDefaultIfNone(winner);
          refreshConflict(winner.identity);
        }
        const after = find(winnerId);
        return after === null
          ? unknown(winnerId)
          : success({ winner: after, superseded_record_ids: judged.value });
      }),
  };
}

function unknown(id: string): Result<never, MemoryRefusal> {
  return failure({ code: 'unknown_record', message: `there is no record ${id}` });
}

interface Review {
  readonly reviewer: string;
  /** The token of the caller, where it is known. */
  readonly tokenId?: string | null;
  readonly reason: string | null;
}

export interface ReviewNote extends Review {
  /** Unix seconds. */
  readonly at: number;
}

/** Writes states and their history. Calls belong into a transaction. */
interface StateWriter {
  change(
    record: MemoryRecord,
    change: {
      readonly action: 'confirm' | 'supersede' | 'reject' | 'resolve';
      readonly to: MemoryState;
      /** The record that this one replaces, or that replaces this one. */
      readonly other: string | null;
      readonly note: ReviewNote;
    },
  ): void;
  /** Makes a trusted record the default of its text when that has none. */
  makeDefaultIfNone(record: MemoryRecord): void;
}

function createStateWriter(database: Database): StateWriter {
  const trust = database.prepare(
    `UPDATE record SET state = 'trusted', confirmed_at = ?, reviewer = ?, reason = ?, supersedes = ?, superseded_by = NULL
     WHERE record_id = ?`,
  );
  const supersede = database.prepare(
    `UPDATE record SET state = 'superseded', is_default = 0, superseded_by = ? WHERE record_id = ?`,
  );
  const reject = database.prepare(
    `UPDATE record SET state = 'rejected', reviewer = ?, reason = ? WHERE record_id = ?`,
  );
  const history = database.prepare(
    `INSERT INTO record_history (id, at, action, from_state, to_state, reviewer, token_id, reason, other_record_id)
     SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM record WHERE record_id = ?`,
  );
  const endContextualDefaults = database.prepare(
    `UPDATE record SET is_default = 0
     WHERE source_key = ? AND is_default = 1 AND source_text = ? AND context_key <> ''`,
  );
  const makeDefault = database.prepare(
    `UPDATE record SET is_default = 1 WHERE record_id = ?
     AND NOT EXISTS (SELECT 1 FROM record o WHERE o.source_key = ? AND o.is_default = 1 AND o.source_text = ?)`,
  );
  const setDefault = database.prepare('UPDATE record SET is_default = 1 WHERE record_id = ?');
  const tally = createTally(database);
  const pairIdOf = createPairIds(database);

  const makeDefaultIfNone = (record: MemoryRecord): void => {
    const { normalized, sourceKey } = sourceKeysOf(record, record.source_text, {});
    makeDefault.run(record.record_id, sourceKey, normalized);
  };
  /** A record without context is the default whatever there was; a contextual one only where there is none. */
  const settleDefault = (record: MemoryRecord): void => {
    if (record.context_key !== '') {
      makeDefaultIfNone(record);
      return;
    }
    const { normalized, sourceKey } = sourceKeysOf(record, record.source_text, {});
    endContextualDefaults.run(sourceKey, normalized);
    setDefault.run(record.record_id);
  };

  return {
    makeDefaultIfNone,
    change: (record, { action, to, other, note: { reviewer, tokenId = null, reason, at } }) => {
      const { record_id: id, state } = record;
      if (to === 'trusted') {
        trust.run(at, reviewer, reason, other, id);
        settleDefault(record);
      } else if (to === 'superseded') supersede.run(other, id);
      else reject.run(reviewer, reason, id);
      history.run(at, action, state, to, reviewer, tokenId, reason, other, id);
      const pairId = pairIdOf(record);
      tally.add(pairId, state, -1);
      tally.add(pairId, to, 1);
    },
  };
}
