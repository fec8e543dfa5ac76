import { failure, success, type Result } from '../../../domain/result.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import type { MemoryRecord } from '../../../domain/memory/memory-record.ts';
import {
  judgeConfirmation,
  judgeRejection,
  judgeResolution,
  type MemoryRefusal,
} from '../../../domain/memory/transitions.ts';
import type { Database } from '../../../engine/database/sqlite-database.ts';
import { createStateWriter, type ReviewNote } from './state-writer.ts';
import { RECORDS, recordOf } from './record-rows.ts';

export interface ConfirmRequest extends ReviewNote {
  readonly record_id: string;
  readonly supersede_record_id: string | null;
  readonly force: boolean;
}

export interface RejectRequest extends ReviewNote {
  readonly record_id: string;
}

export interface ResolveRequest extends ReviewNote {
  readonly winner_record_id: string;
  readonly expected_trusted_record_ids: readonly string[];
}

/** A changed record. */
export interface ChangedRecord {
  readonly record: MemoryRecord;
  /** `false` when the record was in this state before. */
  readonly changed: boolean;
}

/** A resolved conflict. */
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

/** Creates the changes of a file. */
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
