import { OPEN_STATUSES } from '../../../../domain/translation/task-status.ts';
import { refreshTasks } from '../store/task-counts.ts';
import type { Work } from '../store/work.ts';
import { carryTarget, type CarriedTier } from '../../../../domain/translation/carry-over.ts';
import { NO_PROVENANCE, sameBytes, targetOf } from '../store/target-rows.ts';
import { getTarget, putTarget, removeTarget, setTargetState } from '../store/target-store.ts';

/** The result of a complete build. */
export interface BuildResult {
  readonly tasks: number;
  /** Units whose target was kept or became stale, by how they follow the release before. */
  readonly carried: Readonly<Record<string, number>>;
  readonly superseded: number;
}

const SUPERSEDE = `UPDATE task SET stored_status = 'superseded', status = 'superseded',
  worker_status = 'idle', lease_owner = NULL, lease_expires_at = NULL, next_attempt_at = NULL, updated_at = ?
  WHERE build_id IN (SELECT build_id FROM build WHERE target_language = ? AND state = 'current')`;
const END_LEASES = `UPDATE chunk SET state = 'cancelled', lease_token = NULL WHERE state = 'leased'
  AND +task_seq IN (SELECT task_seq FROM task WHERE stored_status = 'superseded')`;
// The plus keeps SQLite from its index on archive_entry: most tasks have none, so each would be compared with all others.
const KEEP_SKIPPED = `UPDATE task SET stored_status = 'skipped', reason = old.reason
  FROM task AS old JOIN build AS old_build ON old_build.build_id = old.build_id
  WHERE task.build_id = ? AND old_build.state = 'current' AND old.stored_status = 'skipped'
  AND old.release_id = task.release_id AND old.destination = task.destination
  AND +old.archive_entry IS task.archive_entry RETURNING task.task_seq`;
// Work that a reviewer returned, or a person began, is still to be done in the next release.
const KEEP_OPEN = `UPDATE task SET stored_status = old.stored_status, reason = old.reason
  FROM task AS old JOIN build AS old_build ON old_build.build_id = old.build_id
  WHERE task.build_id = ? AND old_build.state = 'current' AND old_build.target_language = task.target_language
  AND old.stored_status IN (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')}) AND old.destination = task.destination
  AND +old.archive_entry IS task.archive_entry RETURNING task.task_seq`;
// A container whose targets stay in their places needs no new judgement.
const KEEP_JUDGED = `UPDATE task SET judged_by = old.judged_by
  FROM task AS old JOIN build AS old_build ON old_build.build_id = old.build_id
  WHERE task.build_id = ? AND old_build.state = 'current' AND old_build.target_language = task.target_language
  AND old.destination = task.destination AND old.archive_entry IS task.archive_entry
  AND (old.release_id = task.release_id OR NOT task.has_moved)`;

/**
 * Applies the carried targets, and switches reports to the new tasks. Current tasks that the build only repeats stay with their
 * ids, and the build is given up.
 */
export function replaceTasks(work: Work, buildId: number): BuildResult {
  const now = work.now();
  const currentId = equalBuild(work, buildId);
  if (currentId !== null) {
    const carried = carryTargets(work, buildId);
    work
      .sql(`UPDATE build SET finished_at = ?,
  generation = (SELECT generation FROM build WHERE build_id = ?) WHERE build_id = ?`)
      .run(now, buildId, currentId);
    dropBuild(work, buildId);
    return { tasks: countTasksOf(work, currentId), carried, superseded: 0 };
  }
  const kept = [...work.sql(KEEP_SKIPPED).all(buildId), ...work.sql(KEEP_OPEN).all(buildId)];
  for (const { task_seq: seq } of kept) work.touched.add(Number(seq));
  work.sql(KEEP_JUDGED).run(buildId);
  const superseded = Number(work.sql(SUPERSEDE).run(now, work.targetLanguage).changes);
  work.sql(END_LEASES).run();
  const carried = carryTargets(work, buildId);
  work
    .sql(`UPDATE build SET state = 'superseded' WHERE target_language = ? AND state = 'current'`)
    .run(work.targetLanguage);
  work.sql(`UPDATE build SET state = 'current', finished_at = ? WHERE build_id = ?`).run(now, buildId);
  work.sql('UPDATE task SET is_visible = 1 WHERE build_id = ?').run(buildId);
  return { tasks: countTasksOf(work, buildId), carried, superseded };
}

function countTasksOf(work: Work, buildId: number): number {
  refreshTasks(work);
  return Number(work.sql('SELECT count(*) AS count FROM task WHERE build_id = ?').get(buildId)?.['count']);
}

const EQUAL_BUILD = `SELECT old.build_id FROM build AS old JOIN build ON build.build_id = ?
  WHERE old.target_language = ? AND old.state = 'current'
  AND old.release_id = build.release_id AND old.units = build.units`;
// With as many units on both sides, no unit is left over when each task has its like.
const OTHER_TASK = `SELECT 1 FROM task
  LEFT JOIN task AS old ON old.build_id = :current AND old.destination = task.destination
    AND (old.archive_entry IS NULL) = (task.archive_entry IS NULL)
    AND coalesce(old.archive_entry, '') = coalesce(task.archive_entry, '')
    AND old.index_position = task.index_position AND old.format = task.format
    AND old.parse_status = task.parse_status AND old.units_digest = task.units_digest
  WHERE task.build_id = :build AND old.task_seq IS NULL LIMIT 1`;

/**
 * Finds current tasks that a complete build only repeats, as one does after the same release was parsed again: the same release,
 * and in each container the same units in the same places.
 *
 * @returns the id of the current build; `null` when its tasks are others
 */
function equalBuild(work: Work, buildId: number): number | null {
  const found = work.sql(EQUAL_BUILD).get(buildId, work.targetLanguage);
  if (found === undefined) return null;
  const currentId = Number(found['build_id']);
  const other = work.sql(OTHER_TASK).get({ build: buildId, current: currentId });
  return other === undefined ? currentId : null;
}

/** Gives up a growing build. Its rows are deleted by the cleanup. */
export function dropBuild(work: Work, buildId: number): void {
  work
    .sql(`UPDATE task SET stored_status = 'superseded', status = 'superseded' WHERE build_id = ?`)
    .run(buildId);
  work.sql(`UPDATE build SET state = 'superseded' WHERE build_id = ?`).run(buildId);
}

const STAGE = `INSERT INTO staged SELECT carried.unit_id, tier, carried.source_digest, target.unit_id,
  target_text, state, state_before, revision, source_text, target.source_digest, author_kind, token_id, provider,
  provider_run_id, findings, qa_identity, propagated_from, updated_at
  FROM carried LEFT JOIN target ON target.unit_id = from_unit_id AND target_language = ?
  WHERE build_id = ?`;
// One statement, because units take over the ids of others.
const FOLLOW = `UPDATE target SET propagated_from = (SELECT new_unit_id FROM staged
  WHERE staged.unit_id = target.propagated_from LIMIT 1) WHERE target_language = ? AND propagated_from IN
  (SELECT unit_id FROM staged WHERE unit_id <> new_unit_id)`;

/**
 * Applies the carried targets of a build. All of them are read before the first one is written, because units take over the ids
 * of others.
 *
 * @returns the units that have a target, by tier
 */
function carryTargets(work: Work, buildId: number): Record<string, number> {
  const totals: Record<string, number> = {};
  work.sql(STAGE).run(work.targetLanguage, buildId);
  for (const row of work.sql('SELECT * FROM staged').iterate()) {
    const unitId = row['new_unit_id'] as Uint8Array;
    if (row['unit_id'] === null) {
      if (getTarget(work, unitId) !== null) removeTarget(work, unitId);
      continue;
    }
    const tier = row['tier'] as CarriedTier;
    totals[tier] = (totals[tier] ?? 0) + 1;
    const source = targetOf(row);
    const fitsSource = sameBytes(source.sourceDigest, row['new_source_digest'] as Uint8Array);
    const { state, stateBefore } = carryTarget(tier, { ...source, fitsSource });
    // A stored target never becomes `untranslated`.
    if (state === 'untranslated') continue;
    const isOwn = sameBytes(source.unitId, unitId);
    if (isOwn && state !== source.state) setTargetState(work, unitId, state, stateBefore);
    if (isOwn) continue;
    const moved = { ...source, unitId, state, stateBefore, updatedAt: work.now() };
    putTarget(work, moved, { ...NO_PROVENANCE, reason: `carried over: ${tier}` });
  }
  work.sql(FOLLOW).run(work.targetLanguage);
  work.sql('DELETE FROM staged').run();
  work.sql('DELETE FROM carried WHERE build_id = ?').run(buildId);
  return totals;
}
