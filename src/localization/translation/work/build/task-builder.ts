import type { TargetsChanged } from '../../../text-events.ts';
import type { ContainersAfter } from '../../../parse/index/read/containers-after.ts';
import type { UnitPlace, UnitsAfter } from '../../../parse/index/read/units-after.ts';
import { buildInState, type BuiltFor } from '../store/builds.ts';
import { sameBytes, type Row } from '../store/target-rows.ts';
import { targetsChanged } from '../store/repetition-queue.ts';
import { refreshTasks } from '../store/task-counts.ts';
import type { Work } from '../store/work.ts';
import { deleteSuperseded } from './delete-superseded.ts';
import { dropBuild, replaceTasks, type BuildResult } from './finish-build.ts';
import { addPage } from './unit-adder.ts';

interface BuildProgress extends BuiltFor {
  readonly buildId: number;
  /** The last file that was compared; empty at the beginning. */
  readonly comparedUntil: string;
  /** Whether all files were compared, and have their tasks. */
  readonly isComplete: boolean;
  /** Whether reports show its tasks. */
  readonly isCurrent: boolean;
}

/** Files beside each other whose units are to be read: where to begin, and the last file. */
interface ChangedFiles {
  readonly from: UnitPlace;
  last: string;
}

/** A power failure may take these steps back, and then they are done again. The next durable transaction keeps them. */
const UNHURRIED = { durable: false };

/**
 * Begins to build the tasks of a release, or finds the build of the same release and generation: one that was interrupted continues
 * where it was. Nothing that reports show changes before {@link finishBuild}.
 */
export function beginBuild(work: Work, { releaseId, generation }: BuiltFor): BuildProgress {
  return work.database.transaction(() => {
    const isWanted = (row: Row | undefined): row is Row =>
      row?.['release_id'] === releaseId && row['generation'] === generation;
    const current = buildInState(work, 'current');
    if (isWanted(current)) return progressOf(current);
    const growing = buildInState(work, 'building');
    if (isWanted(growing)) return progressOf(growing);
    if (growing !== undefined) dropBuild(work, Number(growing['build_id']));
    const { lastInsertRowid } = work
      .sql(
        `INSERT INTO build (release_id, generation, target_language, state, started_at) VALUES (?, ?, ?, 'building', ?)`,
      )
      .run(releaseId, generation, work.targetLanguage, work.now());
    return readProgress(work, Number(lastInsertRowid));
  });
}

// The current tasks stay while nothing says that they leave, so those of unchanged files are not written.
const COMPARED_TASKS = `SELECT task_seq, build_id, destination, content_key,
  untranslated + draft + translated + proofread + blocked + stale AS units FROM task
  WHERE build_id IN (:build, (SELECT build_id FROM build WHERE target_language = :language AND state = 'current'))
  AND (build_id = :build OR is_visible = 1) AND destination > :after`;
const COMPARED_UP_TO = `${COMPARED_TASKS} AND destination <= :up_to`;

/**
 * Compares a page of files with the current tasks, and notes the tasks that leave.
 *
 * @returns the files whose units must be added with {@link addUnits}, before {@link passFiles}
 */
export function compareFiles(
  work: Work,
  { buildId, page }: { readonly buildId: number; readonly page: ContainersAfter },
): readonly ChangedFiles[] {
  return work.database.transaction(() => {
    const build = requirePage(work, buildId, page);
    const files = new Map(page.items.map((file) => [file.destination, file]));
    const kept = new Set<string>();
    const grown = new Map<string, number>();
    const query = { build: buildId, language: work.targetLanguage, after: build.comparedUntil };
    const tasks =
      page.next === null
        ? work.sql(COMPARED_TASKS).all(query)
        : work.sql(COMPARED_UP_TO).all({ ...query, up_to: page.next });
    for (const row of tasks) {
      const destination = String(row['destination']);
      const contentKey = files.get(destination)?.contentKey;
      if (row['build_id'] === buildId) {
        grown.set(destination, (grown.get(destination) ?? 0) + Number(row['units']));
      } else if (contentKey !== undefined && sameBytes(row['content_key'] as Uint8Array, contentKey)) {
        kept.add(destination);
      } else {
        work.sql('UPDATE task SET leaves_in = ? WHERE task_seq = ?').run(buildId, Number(row['task_seq']));
      }
    }
    const changed: ChangedFiles[] = [];
    let isBeside = false;
    for (const { destination, units } of page.items) {
      const ordinal = grown.get(destination) ?? 0;
      const isDone = kept.has(destination) || ordinal === units;
      const last = changed.at(-1);
      if (!isDone && isBeside && last !== undefined) last.last = destination;
      else if (!isDone) changed.push({ from: { destination, ordinal }, last: destination });
      isBeside = !isDone;
    }
    return changed;
  }, UNHURRIED);
}

/** Adds the units of a page of changed files. */
export function addUnits(
  work: Work,
  { buildId, page }: { readonly buildId: number; readonly page: UnitsAfter },
): void {
  // Nobody reads a build before it is complete, and that is written durably.
  work.database.transaction(() => {
    const build = requirePage(work, buildId, page);
    const current = buildInState(work, 'current');
    const before = current?.['release_id'];
    const isRebuild = before === build.releaseId;
    const followsTiers = before !== undefined && before === page.previousReleaseId && !isRebuild;
    const releaseSince = current === undefined ? null : Number(current['release_since']);
    addPage(work, { buildId, followsTiers, isRebuild, releaseSince }, page);
  }, UNHURRIED);
}

/** Goes on to the next page of files, because those of this one have their tasks. */
export function passFiles(
  work: Work,
  { buildId, next }: { readonly buildId: number; readonly next: string | null },
): BuildProgress {
  return work.database.transaction(() => {
    if (next === null) work.sql('UPDATE build SET is_compared = 1 WHERE build_id = ?').run(buildId);
    else work.sql('UPDATE build SET compared_until = ? WHERE build_id = ?').run(next, buildId);
    return readProgress(work, buildId);
  }, UNHURRIED);
}

/** Writes the status of a bounded part of the tasks of a complete build. @returns whether there may be more */
export function countTasks(work: Work, buildId: number): boolean {
  return work.database.transaction(() => countPart(work, buildId), UNHURRIED);
}

/** Replaces the tasks of changed files in one transaction. */
export function finishBuild(work: Work, buildId: number): BuildResult & { readonly event: TargetsChanged } {
  return work.database.transaction(() => {
    if (!readProgress(work, buildId).isComplete) throw new Error(`build ${buildId} has not all units yet`);
    // Most of it was done before, so that this transaction is short.
    while (countPart(work, buildId));
    const result = replaceTasks(work, buildId);
    work.copied.clear();
    return { ...result, event: targetsChanged(work, { hasMoved: true }) };
  });
}

/** Deletes a bounded part of the units of superseded tasks. @returns whether there may be more */
export function cleanUp(work: Work): boolean {
  return work.database.transaction(() => deleteSuperseded(work), UNHURRIED);
}

/** @throws Error for a page of another release or generation than that of the build */
function requirePage(
  work: Work,
  buildId: number,
  page: { readonly releaseId: string | null; readonly generation: number },
): BuildProgress {
  const build = readProgress(work, buildId);
  if (page.releaseId === build.releaseId && page.generation === build.generation) return build;
  throw new Error(`the page is of release ${String(page.releaseId)}, the build of ${build.releaseId}`);
}

function readProgress(work: Work, buildId: number): BuildProgress {
  return progressOf(work.sql('SELECT * FROM build WHERE build_id = ?').get(buildId) ?? {});
}

function progressOf(row: Row): BuildProgress {
  return {
    buildId: Number(row['build_id']),
    releaseId: String(row['release_id']),
    generation: Number(row['generation']),
    comparedUntil: String(row['compared_until'] ?? ''),
    isComplete: row['is_compared'] === 1,
    isCurrent: row['state'] === 'current',
  };
}

const STEP_TASKS = 200;
// The plus keeps SQLite on the order of the table, in which the tasks of a build are beside each other.
const NEXT_TASKS = `SELECT task_seq FROM task WHERE +build_id = :build_id
  AND task_seq > (SELECT counted_until FROM build WHERE build_id = :build_id)
  ORDER BY task_seq LIMIT ${STEP_TASKS}`;

/** Nobody sees these tasks yet, so they are counted before they replace others. Later changes of their units write the status again. */
function countPart(work: Work, buildId: number): boolean {
  const part = work
    .sql(NEXT_TASKS)
    .all({ build_id: buildId })
    .map((row) => Number(row['task_seq']));
  for (const taskSeq of part) work.touched.add(taskSeq);
  refreshTasks(work);
  const last = part.at(-1);
  if (last !== undefined) {
    work.sql('UPDATE build SET counted_until = ? WHERE build_id = ?').run(last, buildId);
  }
  return part.length === STEP_TASKS;
}
