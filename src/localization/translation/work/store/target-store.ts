import { insertRow } from '../../../../engine/database/insert-row.ts';
import { isUsable, type UnitState } from '../../../../domain/translation/unit-state.ts';
import { noteRepetition } from './repetition-queue.ts';
import { moveUnits, type UnitMove } from './task-counts.ts';
import { addEntry, keepAfterRemoval, newestOf, revisionIn, sharedColumns } from './target-history.ts';
import { NO_PROVENANCE, targetOf, type JudgedBy, type Provenance, type StoredTarget } from './target-rows.ts';
import type { Work, WorkReader } from './work.ts';

/** A target before it has a revision. */
export type NewTarget = Omit<StoredTarget, 'revision'>;

/** The columns that change with each target of a unit. */
const CONTENT =
  `target_text state state_before revision source_text source_digest author_kind token_id provider provider_run_id
  findings qa_identity propagated_from updated_at entry`.split(/\s+/);
const REPLACE = `ON CONFLICT DO UPDATE SET ${CONTENT.map((column) => `${column} = excluded.${column}`).join(', ')}`;

/** The newest target of a unit. */
export function getTarget(work: WorkReader, unitId: Uint8Array): StoredTarget | null {
  const row = work
    .sql('SELECT * FROM target WHERE unit_id = ? AND target_language = ?')
    .get(unitId, work.targetLanguage);
  return row === undefined ? null : targetOf(row);
}

/** The state of a unit; `untranslated` without a target. */
export function stateOf(work: WorkReader, unitId: Uint8Array): UnitState {
  return newestOf(work, unitId).state;
}

/**
 * Stores a target; call it inside a transaction. It is in the history, and a change of the state in the counts of the tasks of the
 * unit.
 *
 * @param moves collects the change of the state; the caller counts it. Absent: counted here.
 */
export function putTarget(work: Work, target: NewTarget, provenance: Provenance, moves?: UnitMove[]): void {
  const { unitId } = target;
  const before = newestOf(work, unitId);
  const stored = { ...target, revision: before.revision + 1 };
  const entry = addEntry(work, stored, provenance, before.entry);
  const row = {
    ...sharedColumns(work, stored),
    state_before: stored.stateBefore,
    findings: JSON.stringify(stored.findings),
    qa_identity: stored.qaIdentity,
    updated_at: stored.updatedAt,
    entry,
  };
  insertRow(work, 'target', row, REPLACE);
  if (before.text !== stored.text || !isUsable(stored.state)) unpublish(work, unitId);
  const move = { unitId, from: before.state, to: stored.state };
  if (moves === undefined) moveUnits(work, [move]);
  else moves.push(move);
  if (stored.propagatedFrom === null) noteRepetition(work, unitId);
  judgeLater(work, unitId, provenance.judgedBy);
}

/** Removes the target of a unit, which is untranslated again. The history names who did it. */
export function takeTargetBack(work: Work, target: Omit<NewTarget, 'state'>, provenance: Provenance): void {
  const { unitId } = target;
  const before = newestOf(work, unitId);
  const ended = { ...target, revision: before.revision + 1, state: 'untranslated' } as const;
  removeRow(work, unitId, addEntry(work, ended, provenance, before.entry));
  moveUnits(work, [{ unitId, from: before.state, to: 'untranslated' }]);
}

/** Changes the state of a target, for example after its source changed. The revision grows; the history has no entry of it. */
export function setTargetState(
  work: Work,
  unitId: Uint8Array,
  state: StoredTarget['state'],
  stateBefore: StoredTarget['stateBefore'],
): void {
  const from = stateOf(work, unitId);
  work
    .sql(
      `UPDATE target SET state = ?, state_before = ?, revision = revision + 1, updated_at = ?
      WHERE unit_id = ? AND target_language = ?`,
    )
    .run(state, stateBefore, work.now(), unitId, work.targetLanguage);
  if (!isUsable(state)) unpublish(work, unitId);
  moveUnits(work, [{ unitId, from, to: state }]);
  noteRepetition(work, unitId);
}

/**
 * Forgets the target of an id that now belongs to another text. The history keeps it with its last state, so that the revisions of
 * the id continue from there.
 */
export function removeTarget(work: Work, unitId: Uint8Array): void {
  const target = getTarget(work, unitId);
  const { entry, state } = newestOf(work, unitId);
  const isUnknown = target !== null && target.revision > revisionIn(work, entry);
  const provenance = { ...NO_PROVENANCE, reason: 'the id belongs to another text now' };
  removeRow(work, unitId, isUnknown ? addEntry(work, target, provenance, entry) : entry);
  moveUnits(work, [{ unitId, from: state, to: 'untranslated' }]);
  noteRepetition(work, unitId);
}

function removeRow(work: Work, unitId: Uint8Array, newestEntry: number | null): void {
  work.sql('DELETE FROM target WHERE unit_id = ? AND target_language = ?').run(unitId, work.targetLanguage);
  unpublish(work, unitId);
  keepAfterRemoval(work, unitId, newestEntry);
}

/** Makes the tasks of a unit no longer published: the localized release has other texts. */
function unpublish(work: Work, unitId: Uint8Array): void {
  work
    .sql(
      `UPDATE task SET stored_status = NULL WHERE stored_status = 'published'
      AND target_language = ? AND task_seq IN (SELECT task_seq FROM task_unit WHERE unit_id = ?)`,
    )
    .run(work.targetLanguage, unitId);
}

/**
 * Makes the tasks of a unit be judged again whose other targets were, or are now being, judged by something else than this target:
 * by other rules, by another Glossary, or before or after a proofread of the container.
 *
 * @param judgedBy `null` for a target that was not judged
 */
export function judgeLater(work: Work, unitId: Uint8Array, judgedBy: JudgedBy | null): void {
  if (judgedBy === null) return;
  work
    .sql(
      `UPDATE task SET judged_by = NULL, judging_by = NULL, judging_resets = judging_resets + 1
      WHERE coalesce(judging_by, judged_by) <> ? AND task_seq IN (SELECT task_seq FROM task_unit WHERE unit_id = ?)`,
    )
    .run(judgedBy.key, unitId);
}
