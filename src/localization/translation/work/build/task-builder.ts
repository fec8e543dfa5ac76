import type { UnitPlace, UnitsAfter } from '../../../parse/index/read/units-after.ts';
import { createCleanup, createDrop, createFinish, type BuildResult } from './finish-build.ts';
import type { Row } from '../store/target-rows.ts';
import type { TargetsChanged } from '../../../text-events.ts';
import type { WorkTools } from '../store/work-tools.ts';
import { createUnitAdder } from './unit-adder.ts';

interface BuildProgress {
  readonly buildId: number;
  readonly releaseId: string;
  readonly generation: number;
  readonly from: UnitPlace;
  readonly units: number;
  readonly isComplete: boolean;
  /** Whether reports show its tasks. */
  readonly isCurrent: boolean;
}

/**
 * Builds the tasks of a release in batches. A build that was interrupted continues where it was. Nothing that reports show changes
 * before `finish`, which replaces the tasks of the release before in one transaction, or keeps tasks that are the same.
 */
export interface TaskBuilder {
  /** Begins a build, or finds the one of the same release and generation. */
  beginBuild(release: { readonly releaseId: string; readonly generation: number }): BuildProgress;
  /** Adds the units of a page; a page of another release or another place is refused with an Error. */
  addUnits(batch: { readonly buildId: number; readonly page: UnitsAfter }): BuildProgress;
  /** Writes the status of a bounded part of the tasks of a complete build. @returns whether there may be more */
  countTasks(buildId: number): boolean;
  finishBuild(buildId: number): BuildResult & { readonly event: TargetsChanged };
  /** Deletes a bounded part of the units of superseded tasks. @returns whether there may be more */
  cleanUp(): boolean;
}

/** A power failure may take these steps back, and then they are done again. The next durable transaction keeps them. */
const UNHURRIED = { durable: false };

/** Creates the builder of tasks for one target language. */
export function createTaskBuilder(tools: WorkTools): TaskBuilder {
  const { database, targetLanguage, now } = tools;
  const addUnits = createUnitAdder(tools);
  const countTasks = createTaskCounter(tools);
  const finish = createFinish(tools);
  const byState = database.prepare('SELECT * FROM build WHERE target_language = ? AND state = ?');
  const byId = database.prepare('SELECT * FROM build WHERE build_id = ?');
  const insert = database.prepare(
    `INSERT INTO build (release_id, generation, target_language, state, started_at) VALUES (?, ?, ?, 'building', ?)`,
  );
  const drop = createDrop(database);
  const cleanUp = createCleanup(database);
  const advance = database.prepare(
    'UPDATE build SET next_position = ?, next_ordinal = ?, units = units + ? WHERE build_id = ?',
  );
  return {
    beginBuild: ({ releaseId, generation }) =>
      database.transaction(() => {
        const isWanted = (row: Row | undefined): row is Row =>
          row?.['release_id'] === releaseId && row['generation'] === generation;
        const current = byState.get(targetLanguage, 'current');
        if (isWanted(current)) return progressOf(current);
        const growing = byState.get(targetLanguage, 'building');
        if (isWanted(growing)) return progressOf(growing);
        if (growing !== undefined) drop(Number(growing['build_id']));
        const { lastInsertRowid } = insert.run(releaseId, generation, targetLanguage, now());
        return progressOf(byId.get(lastInsertRowid) ?? {});
      }),
    addUnits: ({ buildId, page }) =>
      // Nobody reads a build before it is complete, and that is written durably.
      database.transaction(() => {
        const build = progressOf(byId.get(buildId) ?? {});
        if (page.releaseId !== build.releaseId || page.generation !== build.generation) {
          throw new Error(
            `the page is of release ${String(page.releaseId)}, the build of ${build.releaseId}`,
          );
        }
        const before = byState.get(targetLanguage, 'current')?.['release_id'];
        const followsTiers =
          before !== undefined && before === page.previousReleaseId && before !== build.releaseId;
        const isRebuild = before === build.releaseId;
        addUnits(
          { ...build, followsTiers, isRebuild, hasCurrent: before !== undefined, now: now() },
          page.items,
        );
        const next = page.next ?? { position: -1, ordinal: 0 };
        advance.run(next.position, next.ordinal, page.items.length, buildId);
        return progressOf(byId.get(buildId) ?? {});
      }, UNHURRIED),
    countTasks: (buildId) => database.transaction(() => countTasks(buildId, now()), UNHURRIED),
    finishBuild: (buildId) =>
      database.transaction(() => {
        if (!progressOf(byId.get(buildId) ?? {}).isComplete) {
          throw new Error(`build ${buildId} has not all units yet`);
        }
        // Most of it was done before, so that this transaction is short.
        while (countTasks(buildId, now()));
        return { ...finish(buildId, now()), event: tools.eventOf({ hasMoved: true }) };
      }),
    cleanUp: () => database.transaction(cleanUp, UNHURRIED),
  };
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

/** Tasks of one step. */
const STEP_TASKS = 200;

/**
 * Creates the writing of the status of the tasks of a growing build; call it inside a transaction. Nobody sees these tasks yet, so
 * it is done in bounded parts before the tasks replace others. Later changes of their units write the status again.
 *
 * @returns a function that says whether there may be more
 */
function createTaskCounter({ database, counts }: WorkTools): (buildId: number, now: number) => boolean {
  // The plus keeps SQLite on the order of the table, in which the tasks of a build are beside each other.
  const tasks = database.prepare(`SELECT task_seq FROM task WHERE +build_id = :build_id
    AND task_seq > (SELECT counted_until FROM build WHERE build_id = :build_id)
    ORDER BY task_seq LIMIT ${STEP_TASKS}`);
  const advance = database.prepare('UPDATE build SET counted_until = ? WHERE build_id = ?');
  return (buildId, now) => {
    const part = tasks.all({ build_id: buildId }).map((row) => Number(row['task_seq']));
    for (const taskSeq of part) counts.touch(taskSeq);
    counts.refresh(now);
    const last = part.at(-1);
    if (last !== undefined) advance.run(last, buildId);
    return part.length === STEP_TASKS;
  };
}
