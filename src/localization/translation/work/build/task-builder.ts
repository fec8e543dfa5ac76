import type { TargetsChanged } from '../../../text-events.ts';
import type { UnitPlace, UnitsAfter } from '../../../parse/index/read/units-after.ts';
import type { BuiltFor } from '../store/builds.ts';
import type { Row } from '../store/target-rows.ts';
import { targetsChanged } from '../store/repetition-queue.ts';
import { refreshTasks } from '../store/task-counts.ts';
import type { Work } from '../store/work.ts';
import { deleteSuperseded } from './delete-superseded.ts';
import { dropBuild, replaceTasks, type BuildResult } from './finish-build.ts';
import { addPage } from './unit-adder.ts';

interface BuildProgress extends BuiltFor {
  readonly buildId: number;
  readonly from: UnitPlace;
  readonly units: number;
  readonly isComplete: boolean;
  /** Whether reports show its tasks. */
  readonly isCurrent: boolean;
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

/** Adds the units of a page; a page of another release or another place is refused with an Error. */
export function addUnits(
  work: Work,
  { buildId, page }: { readonly buildId: number; readonly page: UnitsAfter },
): BuildProgress {
  // Nobody reads a build before it is complete, and that is written durably.
  return work.database.transaction(() => {
    const build = readProgress(work, buildId);
    if (page.releaseId !== build.releaseId || page.generation !== build.generation) {
      throw new Error(`the page is of release ${String(page.releaseId)}, the build of ${build.releaseId}`);
    }
    const before = buildInState(work, 'current')?.['release_id'];
    const hasCurrent = before !== undefined;
    const isRebuild = before === build.releaseId;
    const followsTiers = hasCurrent && before === page.previousReleaseId && !isRebuild;
    addPage(work, { ...build, followsTiers, isRebuild, hasCurrent }, page.items);
    const next = page.next ?? { position: -1, ordinal: 0 };
    work
      .sql('UPDATE build SET next_position = ?, next_ordinal = ?, units = units + ? WHERE build_id = ?')
      .run(next.position, next.ordinal, page.items.length, buildId);
    return readProgress(work, buildId);
  }, UNHURRIED);
}

/** Writes the status of a bounded part of the tasks of a complete build. @returns whether there may be more */
export function countTasks(work: Work, buildId: number): boolean {
  return work.database.transaction(() => countPart(work, buildId), UNHURRIED);
}

/** Replaces the tasks of the release before in one transaction, or keeps tasks that are the same. */
export function finishBuild(work: Work, buildId: number): BuildResult & { readonly event: TargetsChanged } {
  return work.database.transaction(() => {
    if (!readProgress(work, buildId).isComplete) throw new Error(`build ${buildId} has not all units yet`);
    // Most of it was done before, so that this transaction is short.
    while (countPart(work, buildId));
    const result = replaceTasks(work, buildId);
    return { ...result, event: targetsChanged(work, { hasMoved: true }) };
  });
}

/** Deletes a bounded part of the units of superseded tasks. @returns whether there may be more */
export function cleanUp(work: Work): boolean {
  return work.database.transaction(() => deleteSuperseded(work), UNHURRIED);
}

function buildInState(work: Work, state: 'building' | 'current'): Row | undefined {
  return work
    .sql('SELECT * FROM build WHERE target_language = ? AND state = ?')
    .get(work.targetLanguage, state);
}

function readProgress(work: Work, buildId: number): BuildProgress {
  return progressOf(work.sql('SELECT * FROM build WHERE build_id = ?').get(buildId) ?? {});
}

function progressOf(row: Row): BuildProgress {
  const position = Number(row['next_position']);
  return {
    buildId: Number(row['build_id']),
    releaseId: String(row['release_id']),
    generation: Number(row['generation']),
    from: { position, ordinal: Number(row['next_ordinal']) },
    units: Number(row['units']),
    isComplete: position < 0,
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
