import { OPEN_STATUSES } from '../../../../domain/translation/task-status.ts';
import { refreshTasks } from '../store/task-counts.ts';
import { buildInState } from '../store/builds.ts';
import type { Work } from '../store/work.ts';
import { carryTarget, type CarriedTier } from '../../../../domain/translation/carry-over.ts';
import { NO_PROVENANCE, sameBytes, targetOf, type Row } from '../store/target-rows.ts';
import { getTarget, putTarget, removeTarget, setTargetState } from '../store/target-store.ts';

/** The result of a complete build. */
export interface BuildResult {
  /** Tasks and units of the release. */
  readonly tasks: number;
  readonly units: number;
  /** Units whose target was kept or became stale, by how they follow the release before. */
  readonly carried: Readonly<Record<string, number>>;
  readonly superseded: number;
}

/**
 * Tasks of changed files that have the same units in the same order as before: a file that was only packed again, or parsed by new
 * rules. The current task stays, and the new one is given up.
 */
const EQUAL_TASKS = `SELECT old.task_seq AS old_seq, task.task_seq AS new_seq, task.content_key
  FROM task JOIN task AS old ON old.leaves_in = task.build_id AND old.destination = task.destination
    AND (old.archive_entry IS NULL) = (task.archive_entry IS NULL)
    AND coalesce(old.archive_entry, '') = coalesce(task.archive_entry, '')
    AND old.format = task.format AND old.parse_status = task.parse_status AND old.units_digest = task.units_digest
  WHERE task.build_id = :build AND task.is_visible = 0 AND old.build_id = :current`;
// The plus keeps SQLite from its index on archive_entry: most tasks have none, so each would be compared with all others.
const REPLACED = `FROM task AS old WHERE task.build_id = :build AND task.leaves_in IS NULL
  AND old.leaves_in = :build AND old.build_id = :current
  AND old.destination = task.destination AND +old.archive_entry IS task.archive_entry`;
const KEEP_SKIPPED = `UPDATE task SET stored_status = 'skipped', reason = old.reason ${REPLACED}
  AND old.stored_status = 'skipped' AND :is_rebuild RETURNING task.task_seq`;
// Work that a reviewer returned, or a person began, is still to be done in the next release.
const KEEP_OPEN = `UPDATE task SET stored_status = old.stored_status, reason = old.reason ${REPLACED}
  AND old.stored_status IN (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')}) RETURNING task.task_seq`;
// A container whose targets stay in their places needs no new judgement.
const KEEP_JUDGED = `UPDATE task SET judged_by = old.judged_by ${REPLACED}
  AND (:is_rebuild OR NOT task.has_moved)`;
const GIVE_UP = `UPDATE task SET leaves_in = build_id, stored_status = 'superseded', status = 'superseded' WHERE task_seq = ?`;
const SUPERSEDE = `UPDATE task SET build_id = :build, stored_status = 'superseded', status = 'superseded',
  worker_status = 'idle', lease_owner = NULL, lease_expires_at = NULL, next_attempt_at = NULL, updated_at = :now
  WHERE leaves_in = :build AND build_id = :current`;
const END_LEASES = `UPDATE chunk SET state = 'cancelled', lease_token = NULL WHERE state = 'leased'
  AND +task_seq IN (SELECT task_seq FROM task WHERE leaves_in = ?)`;
const MOVE_NEW = `UPDATE task SET build_id = :current, is_visible = 1
  WHERE build_id = :build AND is_visible = 0 AND leaves_in IS NULL`;

/**
 * Applies the carried targets, and switches reports to the new tasks. The tasks of files that did not change are not touched: they
 * stay with their ids, their leases and their status.
 */
export function replaceTasks(work: Work, buildId: number): BuildResult {
  const current = buildInState(work, 'current');
  if (current === undefined) return showFirst(work, buildId);
  const currentId = Number(current['build_id']);
  const both = { build: buildId, current: currentId };
  for (const equal of work.sql(EQUAL_TASKS).all(both)) {
    const [old, renewed] = [Number(equal['old_seq']), Number(equal['new_seq'])];
    const key = equal['content_key'] ?? null;
    work.sql('UPDATE task SET leaves_in = NULL, content_key = ? WHERE task_seq = ?').run(key, old);
    work.sql(GIVE_UP).run(renewed);
  }
  const grown = work.sql('SELECT * FROM build WHERE build_id = ?').get(buildId) ?? {};
  const isRebuild = grown['release_id'] === current['release_id'];
  const rebuilt = { ...both, is_rebuild: Number(isRebuild) };
  const kept = [...work.sql(KEEP_SKIPPED).all(rebuilt), ...work.sql(KEEP_OPEN).all(both)];
  for (const { task_seq: seq } of kept) work.touched.add(Number(seq));
  work.sql(KEEP_JUDGED).run(rebuilt);
  const superseded = Number(work.sql(SUPERSEDE).run({ ...both, now: work.now() }).changes);
  work.sql(END_LEASES).run(buildId);
  const carried = carryTargets(work, buildId);
  const firstNew = work.sql('SELECT min(task_seq) AS seq FROM task WHERE made_in = ?').get(buildId)?.['seq'];
  work.sql(MOVE_NEW).run(both);
  switchBuilds(work, { current, grown, isRebuild, sweepAfter: Number(firstNew ?? 0) - 1 });
  return { ...sumOf(work, currentId), carried, superseded };
}

/** The tasks of the first build become those that reports show. */
function showFirst(work: Work, buildId: number): BuildResult {
  const carried = carryTargets(work, buildId);
  work.sql('UPDATE task SET is_visible = 1 WHERE build_id = ?').run(buildId);
  work
    .sql(`UPDATE build SET state = 'current', finished_at = ?, release_since = build_id WHERE build_id = ?`)
    .run(work.now(), buildId);
  return { ...sumOf(work, buildId), carried, superseded: 0 };
}

const SHOW_RELEASE = `UPDATE build SET release_id = :release_id, generation = :generation, release_since = :since,
  swept_task = coalesce(swept_task, :swept), started_at = :started_at, finished_at = :now WHERE build_id = :current`;
const KEEP_RELEASE = `UPDATE build SET state = 'superseded', release_id = :release_id, generation = :generation, finished_at = :now
  WHERE build_id = :build`;

/** Gives the current build the release of the grown one, and the grown one, which now has the tasks that left, the release before. */
function switchBuilds(
  work: Work,
  {
    current,
    grown,
    isRebuild,
    sweepAfter,
  }: {
    readonly current: Row;
    readonly grown: Row;
    readonly isRebuild: boolean;
    /** The last task of which the repetitions are known. */
    readonly sweepAfter: number;
  },
): void {
  const [now, buildId] = [work.now(), grown['build_id'] ?? null];
  work.sql(KEEP_RELEASE).run({
    build: buildId,
    release_id: current['release_id'] ?? null,
    generation: current['generation'] ?? null,
    now,
  });
  work.sql(SHOW_RELEASE).run({
    current: current['build_id'] ?? null,
    release_id: grown['release_id'] ?? null,
    generation: grown['generation'] ?? null,
    started_at: grown['started_at'] ?? null,
    since: (isRebuild ? current['release_since'] : buildId) ?? null,
    swept: sweepAfter < 0 ? null : sweepAfter,
    now,
  });
}

function sumOf(work: Work, buildId: number): { readonly tasks: number; readonly units: number } {
  refreshTasks(work);
  const sums = work
    .sql(
      `SELECT count(*) AS tasks, coalesce(sum(untranslated + draft + translated + proofread + blocked + stale), 0) AS units
      FROM task WHERE build_id = ? AND is_visible = 1`,
    )
    .get(buildId);
  return { tasks: Number(sums?.['tasks']), units: Number(sums?.['units']) };
}

/** Gives up a growing build. Its rows are deleted by the cleanup. */
export function dropBuild(work: Work, buildId: number): void {
  work
    .sql(`UPDATE task SET stored_status = 'superseded', status = 'superseded' WHERE build_id = ?`)
    .run(buildId);
  work.sql(`UPDATE build SET state = 'dropped' WHERE build_id = ?`).run(buildId);
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
