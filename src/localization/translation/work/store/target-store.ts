import { isUsable, type UnitState } from '../../../../domain/translation/unit-state.ts';
import { prepareInsert } from '../../../../engine/database/insert-row.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { createRepetitionNotes } from './repetition-queue.ts';
import type { TaskCounts, UnitMove } from './task-counts.ts';
import { createTargetHistory, sharedColumns } from './target-history.ts';
import { NO_PROVENANCE, targetOf, type JudgedBy, type Provenance, type StoredTarget } from './target-rows.ts';

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

/** The columns that change with each target of a unit. */
const CONTENT =
  `target_text state state_before revision source_text source_digest author_kind token_id provider provider_run_id
  findings qa_identity propagated_from updated_at entry`.split(/\s+/);

/** Creates the store; call it inside a transaction. */
export function createTargetStore(
  database: Database,
  targetLanguage: string,
  counts: Pick<TaskCounts, 'move' | 'moveAll'>,
): TargetStore {
  const get = database.prepare('SELECT * FROM target WHERE unit_id = ? AND target_language = ?');
  const put = prepareInsert(
    database,
    'target',
    ['unit_id', 'target_language', ...CONTENT],
    `ON CONFLICT DO UPDATE SET ${CONTENT.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  );
  const history = createTargetHistory(database, targetLanguage);
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
  const removeAfter = (unitId: Uint8Array, entry: number | null): void => {
    remove(unitId);
    history.keepAfterRemoval(unitId, entry);
  };
  return {
    get: read,
    stateOf: (unitId) => history.newestOf(unitId).state,
    put: (target, provenance, moves) => {
      const before = history.newestOf(target.unitId);
      const stored = { ...target, revision: before.revision + 1 };
      const entry = history.add(stored, provenance, stored.updatedAt, before.entry);
      put({
        ...sharedColumns(stored, targetLanguage),
        state_before: stored.stateBefore,
        findings: JSON.stringify(stored.findings),
        qa_identity: stored.qaIdentity,
        updated_at: stored.updatedAt,
        entry,
      });
      if (before.text !== stored.text || !isUsable(stored.state)) unpublish(target.unitId);
      const move = { unitId: target.unitId, from: before.state, to: stored.state } as const;
      if (moves === undefined) counts.moveAll([move]);
      else moves.push(move);
      if (stored.propagatedFrom === null) noteRepetition(target.unitId);
      judgeLater(target.unitId, provenance.judgedBy);
      return stored;
    },
    takeBack: (target, provenance) => {
      const before = history.newestOf(target.unitId);
      const ended = { ...target, revision: before.revision + 1, state: 'untranslated' } as const;
      removeAfter(target.unitId, history.add(ended, provenance, target.updatedAt, before.entry));
      counts.move(target.unitId, before.state, 'untranslated');
    },
    setState: (unitId, state, stateBefore, now) => {
      const before = history.newestOf(unitId);
      setState.run(state, stateBefore, now, unitId, targetLanguage);
      if (!isUsable(state)) unpublish(unitId);
      counts.move(unitId, before.state, state);
      noteRepetition(unitId);
    },
    remove: (unitId) => {
      const target = read(unitId);
      const before = history.newestOf(unitId);
      const isUnknown = target !== null && target.revision > history.revisionOf(before.entry);
      const provenance = { ...NO_PROVENANCE, reason: 'the id belongs to another text now' };
      const entry = isUnknown
        ? history.add(target, provenance, target.updatedAt, before.entry)
        : before.entry;
      removeAfter(unitId, entry);
      counts.move(unitId, before.state, 'untranslated');
      noteRepetition(unitId);
    },
  };
}

/** Makes the tasks of a unit no longer published: the localized release has other texts. */
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

/**
 * Makes the tasks of a unit be judged again whose other targets were, or are now being, judged by something else than this target:
 * by other rules, by another Glossary, or before or after a proofread of the container.
 *
 * @returns a function of the unit and of what its target was judged by; `null` for a target that was not judged
 */
export function createLaterJudgement(
  database: Database,
): (unitId: Uint8Array, judgedBy: JudgedBy | null) => void {
  const reset =
    database.prepare(`UPDATE task SET judged_by = NULL, judging_by = NULL, judging_resets = judging_resets + 1
    WHERE coalesce(judging_by, judged_by) <> ? AND task_seq IN (SELECT task_seq FROM task_unit WHERE unit_id = ?)`);
  return (unitId, judgedBy) => {
    if (judgedBy !== null) reset.run(judgedBy.key, unitId);
  };
}
