import { failure, success, type Result } from '../../../domain/result.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import type { MemoryRecord, MemoryState } from '../../../domain/memory/memory-record.ts';
import {
  judgeConfirmation,
  judgeRejection,
  judgeResolution,
  type MemoryRefusal,
} from '../../../domain/memory/transitions.ts';
import type { MainMemory } from './memory-database.ts';
import { findRecord, trustedRecords } from './memory-reads.ts';
import { addToTally, pairIdOf, proposeRecord } from './memory-writer.ts';
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

export interface RejectRequest extends Rejection, ReviewNote {
  /** The file that it is in; left out for the main one. */
  readonly path?: string | null;
  /** Whether a reviewer has named this record, which may also be a trusted one. */
  readonly isNamed?: boolean;
}

export interface ReviseRequest extends ReviewNote {
  readonly record_id: string;
  readonly target_text: string;
  /** The id of the new record. */
  readonly revised_id: string;
  /** Another trusted record that the new one also replaces. */
  readonly supersede_record_id: string | null;
  readonly force: boolean;
}

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

/** Makes a record trusted, in one transaction; a refused confirmation changes nothing. */
export function confirmRecord(
  memory: MainMemory,
  request: ConfirmRequest,
): Result<ChangedRecord, MemoryRefusal> {
  return memory.database.transaction(() => confirmOne(memory, request));
}

/** Confirms several records, each on its own merits, in one transaction. One result for each, in their order. */
export function confirmRecords(
  memory: MainMemory,
  requests: readonly ConfirmRequest[],
): readonly Result<ChangedRecord, MemoryRefusal>[] {
  return memory.database.transaction(() => requests.map((request) => confirmOne(memory, request)));
}

/** Rejects a record, in one transaction. */
export function rejectRecord(
  memory: MainMemory,
  request: RejectRequest,
): Result<ChangedRecord, MemoryRefusal> {
  return memory.database.transaction(() => {
    const record = findRecord(memory, request.record_id);
    if (record === null) return unknown(request.record_id);
    const judged = judgeRejection(record, request.isNamed ?? false);
    if (!judged.ok) return judged;
    if (judged.value) {
      changeState(memory, record, { action: 'reject', to: 'rejected', other: null, note: request });
      refreshConflict(memory, record.identity);
    }
    return changedRecord(memory, record.record_id, judged.value);
  });
}

/**
 * Puts a trusted record with a target in the place of a record, in one transaction: the target of a record never changes. A trusted
 * record is superseded, and a candidate rejected. The target that the record has already confirms it.
 */
export function reviseRecord(
  memory: MainMemory,
  request: ReviseRequest,
): Result<ChangedRecord, MemoryRefusal> {
  try {
    return memory.database.transaction(() => reviseOne(memory, request));
  } catch (error) {
    if (error instanceof RevisionRefused) return failure(error.refusal);
    throw error;
  }
}

/** @throws RevisionRefused to take the new record back */
function reviseOne(memory: MainMemory, request: ReviseRequest): Result<ChangedRecord, MemoryRefusal> {
  const record = findRecord(memory, request.record_id);
  if (record === null) return unknown(request.record_id);
  const { target_text, revised_id, tokenId = null, at, supersede_record_id: named } = request;
  const proposed = proposeRecord(
    memory,
    {
      ...record,
      target_text,
      record_id: revised_id,
      provenance: { ...record.provenance, origin: 'manual', provider: null, provider_run_id: null },
      author: { kind: 'person', tokenId },
    },
    at,
    false,
  );
  if (proposed.outcome === 'refused')
    return failure({ code: 'invalid_transition', message: proposed.reason });
  const { record_id: id } = proposed;
  if (id === record.record_id) return confirmOne(memory, request);
  const supersede_record_id = named ?? (record.state === 'trusted' ? record.record_id : null);
  const confirmed = confirmOne(memory, { ...request, record_id: id, supersede_record_id }, record.record_id);
  if (!confirmed.ok) throw new RevisionRefused(confirmed.error);
  const left = findRecord(memory, record.record_id);
  if (left?.state === 'candidate')
    changeState(memory, left, { action: 'reject', to: 'rejected', other: null, note: request });
  // The record with the target was trusted before, or replaces the named one.
  else if (left?.state === 'trusted') {
    changeState(memory, left, { action: 'supersede', to: 'superseded', other: id, note: request });
    makeDefaultIfNone(memory, confirmed.value.record);
    refreshConflict(memory, left.identity);
  } else return confirmed;
  return changedRecord(memory, id, true);
}

class RevisionRefused extends Error {
  readonly refusal: MemoryRefusal;

  constructor(refusal: MemoryRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** Keeps one record of a conflict and supersedes the others, in one transaction. */
export function resolveConflict(
  memory: MainMemory,
  request: ResolveRequest,
): Result<ResolvedConflict, MemoryRefusal> {
  return memory.database.transaction(() => {
    const { winner_record_id: winnerId, expected_trusted_record_ids: expectedIds } = request;
    const expected = expectedIds.map((id) => findRecord(memory, id)).filter((record) => record !== null);
    const winner = expected.find(({ record_id }) => record_id === winnerId);
    const trustedIds =
      winner === undefined ? [] : trustedRecords(memory, winner.identity).map(({ record_id }) => record_id);
    const judged = judgeResolution({ winnerId, expectedIds, expected, trustedIds });
    if (!judged.ok) return judged;
    for (const loser of expected.filter(({ record_id }) => judged.value.includes(record_id))) {
      changeState(memory, loser, { action: 'resolve', to: 'superseded', other: winnerId, note: request });
    }
    if (winner !== undefined) {
      makeDefaultIfNone(memory, winner);
      refreshConflict(memory, winner.identity);
    }
    const after = findRecord(memory, winnerId);
    return after === null
      ? unknown(winnerId)
      : success({ winner: after, superseded_record_ids: judged.value });
  });
}

/** @param revisedId the record in whose place the reviewer has just written the target; `null` for none */
function confirmOne(
  memory: MainMemory,
  request: ConfirmRequest,
  revisedId: string | null = null,
): Result<ChangedRecord, MemoryRefusal> {
  const { record_id, supersede_record_id: supersededId, force, reason } = request;
  const record = findRecord(memory, record_id);
  if (record === null) return unknown(record_id);
  const superseded = supersededId === null ? null : findRecord(memory, supersededId);
  if (supersededId !== null && superseded === null) return unknown(supersededId);
  const rivals = trustedRecords(memory, record.identity).filter((rival) => rival.record_id !== revisedId);
  const [hasReason, isRewritten] = [reason !== null, revisedId !== null];
  const judged = judgeConfirmation({ record, rivals, superseded, force, hasReason, isRewritten });
  if (!judged.ok) return judged;
  if (judged.value.changes) {
    if (superseded !== null) {
      changeState(memory, superseded, {
        action: 'supersede',
        to: 'superseded',
        other: record_id,
        note: request,
      });
      refreshConflict(memory, superseded.identity);
    }
    changeState(memory, record, { action: 'confirm', to: 'trusted', other: supersededId, note: request });
    refreshConflict(memory, record.identity);
  }
  return changedRecord(memory, record_id, judged.value.changes);
}

function changedRecord(
  memory: MainMemory,
  id: string,
  changed: boolean,
): Result<ChangedRecord, MemoryRefusal> {
  const record = findRecord(memory, id);
  return record === null ? unknown(id) : success({ record, changed });
}

function refreshConflict(memory: MainMemory, identity: string): void {
  const targets = new Set(trustedRecords(memory, identity).map(({ target_text }) => normalText(target_text)));
  const change =
    targets.size > 1
      ? 'INSERT INTO conflict (identity) VALUES (?) ON CONFLICT DO NOTHING'
      : 'DELETE FROM conflict WHERE identity = ?';
  memory.sql(change).run(Buffer.from(identity, 'hex'));
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

interface StateChange {
  readonly action: 'confirm' | 'supersede' | 'reject' | 'resolve';
  readonly to: MemoryState;
  /** The record that this one replaces, or that replaces this one. */
  readonly other: string | null;
  readonly note: ReviewNote;
}

/** Writes a state and its history. Call it in a transaction. */
function changeState(memory: MainMemory, record: MemoryRecord, change: StateChange): void {
  const { sql } = memory;
  const { action, to, other, note } = change;
  const { reviewer, tokenId = null, reason, at } = note;
  const { record_id: id, state } = record;
  if (to === 'trusted') {
    sql(
      `UPDATE record SET state = 'trusted', confirmed_at = ?, reviewer = ?, reason = ?, supersedes = ?, superseded_by = NULL
       WHERE record_id = ?`,
    ).run(at, reviewer, reason, other, id);
    settleDefault(memory, record);
  } else if (to === 'superseded') {
    sql(`UPDATE record SET state = 'superseded', is_default = 0, superseded_by = ? WHERE record_id = ?`).run(
      other,
      id,
    );
  } else {
    sql(
      `UPDATE record SET state = 'rejected', is_default = 0, reviewer = ?, reason = ? WHERE record_id = ?`,
    ).run(reviewer, reason, id);
    const [next] = record.is_default ? trustedRecords(memory, record.identity) : [];
    if (next !== undefined) makeDefaultIfNone(memory, next);
  }
  sql(
    `INSERT INTO record_history (id, at, action, from_state, to_state, reviewer, token_id, reason, other_record_id)
     SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM record WHERE record_id = ?`,
  ).run(at, action, state, to, reviewer, tokenId, reason, other, id);
  const pairId = pairIdOf(memory, record);
  addToTally(memory, pairId, state, -1);
  addToTally(memory, pairId, to, 1);
}

/** Makes a trusted record the default of its text when that has none. */
function makeDefaultIfNone({ sql }: MainMemory, record: MemoryRecord): void {
  const { normalized, sourceKey } = sourceKeysOf(record, record.source_text, {});
  sql(
    `UPDATE record SET is_default = 1 WHERE record_id = ?
     AND NOT EXISTS (SELECT 1 FROM record o WHERE o.source_key = ? AND o.is_default = 1 AND o.source_text = ?)`,
  ).run(record.record_id, sourceKey, normalized);
}

/** A record without context is the default whatever there was; a contextual one only where there is none. */
function settleDefault(memory: MainMemory, record: MemoryRecord): void {
  if (record.context_key !== '') {
    makeDefaultIfNone(memory, record);
    return;
  }
  const { sql } = memory;
  const { normalized, sourceKey } = sourceKeysOf(record, record.source_text, {});
  sql(
    `UPDATE record SET is_default = 0
     WHERE source_key = ? AND is_default = 1 AND source_text = ? AND context_key <> ''`,
  ).run(sourceKey, normalized);
  sql('UPDATE record SET is_default = 1 WHERE record_id = ?').run(record.record_id);
}
