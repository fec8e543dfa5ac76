import { isUsable, type UnitState } from '../../../domain/translation/unit-state.ts';
import type { Database } from '../../database/sqlite-database.ts';
import { createLaterJudgement } from './later-judgement.ts';
import { createRepetitionNotes } from './repetition-queue.ts';
import type { TaskCounts, UnitMove } from './task-counts.ts';
import { NO_PROVENANCE, targetOf, type Provenance, type StoredTarget } from './target-rows.ts';

/** A target before it has a revision. */
export type NewTarget = Omit<StoredTarget, 'revision'>;

/**
 * The targets of units in one language. Every target that is stored or taken back is in the history, and every change of a state in
 * the counts of the tasks of the unit.
 */
export interface TargetStore {
  get(unitId: Uint8Array): StoredTarget | null;
  /** The state of a unit; `untranslated` without a target. */
  stateOf(unitId: Uint8Array): UnitState;
  /**
   * Stores a target.
   *
   * @param moves collects the change of the state; the caller hands it to the counts. Absent: counted here.
   * @returns it with its revision
   */
  put(target: NewTarget, provenance: Provenance, moves?: UnitMove[]): StoredTarget;
  /** Removes the target of a unit, which is untranslated again. The history names who did it. */
  takeBack(target: Omit<NewTarget, 'state'>, provenance: Provenance): void;
  /** Changes the state of a target, for example after its source changed. The revision grows; the history has no entry of it. */
  setState(
    unitId: Uint8Array,
    state: StoredTarget['state'],
    stateBefore: StoredTarget['stateBefore'],
    now: number,
  ): void;
  /**
   * Forgets the target of an id that now belongs to another text. The history keeps it with its last state, so that the revisions
   * of the id continue from there.
   */
  remove(unitId: Uint8Array): void;
}

const PUT = `INSERT OR REPLACE INTO target (unit_id, target_language, target_text, state, state_before,
  revision, source_text, source_digest, author_kind, token_id, provider, provider_run_id, findings, qa_identity,
  propagated_from, updated_at) VALUES (:unit_id, :target_language, :target_text, :state, :state_before, :revision,
  :source_text, :source_digest, :author_kind, :token_id, :provider, :provider_run_id, :findings, :qa_identity,
  :propagated_from, :updated_at)`;

/** Creates the store; call it inside a transaction. */
export function createTargetStore(
  database: Database,
  targetLanguage: string,
  counts: Pick<TaskCounts, 'move' | 'moveAll'>,
): TargetStore {
  const get = database.prepare('SELECT * FROM target WHERE unit_id = ? AND target_language = ?');
  const lastRevision = createLastRevision(database, targetLanguage);
  const put = database.prepare(PUT);
  const record = createHistoryWriter(database);
  const setState =
    database.prepare(`UPDATE target SET state = ?, state_before = ?, revision = revision + 1, updated_at = ?
    WHERE unit_id = ? AND target_language = ?`);
  const noteRepetition = createRepetitionNotes(database, targetLanguage);
  const judgeLater = createLaterJudgement(database);
  const unpublish = createUnpublishing(database, targetLanguage);
  const remove = createRemoval(database, targetLanguage, unpublish);
  const read = (unitId: Uint8Array): StoredTarget | null => {
    const row = get.get(unitId, targetLanguage);
    return row === undefined ? null : targetOf(row);
  };
  const revisionOf = (unitId: Uint8Array, before: StoredTarget | null): number =>
    (before?.revision ?? lastRevision(unitId)) + 1;
  const stateOf = (unitId: Uint8Array): UnitState => read(unitId)?.state ?? 'untranslated';
  return {
    get: read,
    stateOf,
    put: (target, provenance, moves) => {
      const before = read(target.unitId);
      const stored = { ...target, revision: revisionOf(target.unitId, before) };
      const shared = sharedColumns(stored, targetLanguage);
      put.run({
        ...shared,
        state_before: stored.stateBefore,
        findings: JSON.stringify(stored.findings),
        qa_identity: stored.qaIdentity,
        updated_at: stored.updatedAt,
      });
      record(shared, provenance, stored.updatedAt);
      if (before?.text !== stored.text || !isUsable(stored.state)) unpublish(target.unitId);
      const move = {
        unitId: target.unitId,
        from: before?.state ?? 'untranslated',
        to: stored.state,
      } as const;
      if (moves === undefined) counts.moveAll([move]);
      else moves.push(move);
      if (stored.propagatedFrom === null) noteRepetition(target.unitId);
      judgeLater(target.unitId, provenance.judgedBy);
      return stored;
    },
    takeBack: (target, provenance) => {
      const before = read(target.unitId);
      const revision = revisionOf(target.unitId, before);
      record(
        sharedColumns({ ...target, revision, state: 'untranslated' }, targetLanguage),
        provenance,
        target.updatedAt,
      );
      remove(target.unitId);
      counts.move(target.unitId, before?.state ?? 'untranslated', 'untranslated');
    },
    setState: (unitId, state, stateBefore, now) => {
      const before = stateOf(unitId);
      setState.run(state, stateBefore, now, unitId, targetLanguage);
      if (!isUsable(state)) unpublish(unitId);
      counts.move(unitId, before, state);
      noteRepetition(unitId);
    },
    remove: (unitId) => {
      const before = read(unitId);
      if (before !== null && before.revision > lastRevision(unitId)) {
        const provenance = { ...NO_PROVENANCE, reason: 'the id belongs to another text now' };
        record(sharedColumns(before, targetLanguage), provenance, before.updatedAt);
      }
      remove(unitId);
      counts.move(unitId, before?.state ?? 'untranslated', 'untranslated');
      noteRepetition(unitId);
    },
  };
}

/** Creates the reader of the last revision of a unit in the history; 0 without one. */
function createLastRevision(database: Database, targetLanguage: string): (unitId: Uint8Array) => number {
  const last = database.prepare(
    'SELECT max(revision) AS revision FROM target_history WHERE unit_id = ? AND target_language = ?',
  );
  return (unitId) => Number(last.get(unitId, targetLanguage)?.['revision'] ?? 0);
}

/** Makes the tasks of a unit no longer published: their text is not that of the localized release any more. */
function createUnpublishing(database: Database, targetLanguage: string): (unitId: Uint8Array) => void {
  const reset = database.prepare(`UPDATE task SET stored_status = NULL WHERE stored_status = 'published'
    AND target_language = ? AND task_seq IN (SELECT task_seq FROM task_unit WHERE unit_id = ?)`);
  return (unitId) => {
    reset.run(targetLanguage, unitId);
  };
}

function createRemoval(
  database: Database,
  targetLanguage: string,
  unpublish: (unitId: Uint8Array) => void,
): (unitId: Uint8Array) => void {
  const remove = database.prepare('DELETE FROM target WHERE unit_id = ? AND target_language = ?');
  return (unitId) => {
    remove.run(unitId, targetLanguage);
    unpublish(unitId);
  };
}

/** Creates the writer of the history, which is append-only. */
function createHistoryWriter(
  database: Database,
): (shared: ReturnType<typeof sharedColumns>, provenance: Provenance, at: number) => void {
  const log =
    database.prepare(`INSERT INTO target_history (unit_id, target_language, revision, target_text, state,
    source_text, source_digest, author_kind, token_id, reviewer, reviewer_token_id, reason, provider, provider_run_id, model, prompt_digest,
    glossary_generation, propagated_from, task_id, release_id, at) VALUES (:unit_id, :target_language, :revision,
    :target_text, :state, :source_text, :source_digest, :author_kind, :token_id, :reviewer, :reviewer_token_id, :reason, :provider,
    :provider_run_id, :model, :prompt_digest, :glossary_generation, :propagated_from, :task_id, :release_id, :at)`);
  return (shared, provenance, at) => {
    const { reviewer, reason, model, promptDigest, judgedBy, taskId, releaseId } = provenance;
    log.run({
      ...shared,
      reviewer,
      reviewer_token_id: provenance.reviewerTokenId,
      reason,
      model,
      prompt_digest: promptDigest,
      glossary_generation: judgedBy?.generation ?? null,
      task_id: taskId,
      release_id: releaseId,
      at,
    });
  };
}

function sharedColumns(
  target: Omit<StoredTarget, 'state'> & { readonly state: UnitState },
  targetLanguage: string,
) {
  return {
    unit_id: target.unitId,
    target_language: targetLanguage,
    target_text: target.text,
    state: target.state,
    revision: target.revision,
    source_text: target.sourceText,
    source_digest: target.sourceDigest,
    author_kind: target.authorKind,
    token_id: target.tokenId,
    provider: target.provider,
    provider_run_id: target.providerRunId,
    propagated_from: target.propagatedFrom,
  };
}
