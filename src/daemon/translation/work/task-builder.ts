import type { Database } from '../../database/sqlite-database.ts';
import type { UnitPlace, UnitsAfter } from '../../parse/index/units-after.ts';
import type { TaskCounts } from './task-counts.ts';
import { createCleanup, createDrop } from './build-cleanup.ts';
import { createFinish, type BuildResult } from './finish-build.ts';
import type { Row } from './target-rows.ts';
import { createTaskCounter } from './task-counter.ts';
import type { TargetStore } from './target-store.ts';
import { createUnitAdder } from './unit-adder.ts';

/** The state of a build between two batches. */
export interface BuildProgress {
  readonly buildId: number;
  readonly releaseId: string;
  readonly generation: number;
  /** Where the next batch begins. */
  readonly from: UnitPlace;
  readonly units: number;
  /** Whether it has all units. */
  readonly isComplete: boolean;
  /** Whether reports show its tasks. */
  readonly isCurrent: boolean;
}

/**
 * Builds the tasks of a release in batches. A build that was interrupted continues where it was. Nothing that reports show changes
 * before `finish`, which replaces the tasks of the release before in one transaction, or keeps tasks that are the same.
 */
export interface TaskBuilder {
  /** The release whose tasks reports show; `null` before the first build. */
  current(): { readonly releaseId: string; readonly generation: number } | null;
  /** Begins a build, or finds the one of the same release and generation. */
  begin(releaseId: string, generation: number, now: number): BuildProgress;
  /** Adds the units of a page; a page of another release or another place is refused with an Error. */
  add(buildId: number, page: UnitsAfter, now: number): BuildProgress;
  /** Writes the status of a bounded part of the tasks of a complete build. @returns whether there may be more */
  countTasks(buildId: number, now: number): boolean;
  finish(buildId: number, now: number): BuildResult;
  /** Deletes a bounded part of the units of superseded tasks. @returns whether there may be more */
  cleanUp(): boolean;
}

export interface TaskBuilderOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly targets: TargetStore;
  readonly counts: TaskCounts;
  /** Makes the id of a task, without its prefix. */
  readonly createId: () => string;
}

/** A power failure may take these steps back, and then they are done again. The next durable transaction keeps them. */
const UNHURRIED = { durable: false };

/** Creates the builder of tasks for one target language. */
export function createTaskBuilder(options: TaskBuilderOptions): TaskBuilder {
  const { database, targetLanguage } = options;
  const addUnits = createUnitAdder(options);
  const countTasks = createTaskCounter(options);
  const finish = createFinish(options);
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
    current: () => {
      const row = byState.get(targetLanguage, 'current');
      if (row === undefined) return null;
      const { releaseId, generation } = progressOf(row);
      return { releaseId, generation };
    },
    begin: (releaseId, generation, now) =>
      database.transaction(() => {
        const isWanted = (row: Row | undefined): row is Row =>
          row?.['release_id'] === releaseId && row['generation'] === generation;
        const current = byState.get(targetLanguage, 'current');
        if (isWanted(current)) return progressOf(current);
        const growing = byState.get(targetLanguage, 'building');
        if (isWanted(growing)) return progressOf(growing);
        if (growing !== undefined) drop(Number(growing['build_id']));
        const { lastInsertRowid } = insert.run(releaseId, generation, targetLanguage, now);
        return progressOf(byId.get(lastInsertRowid) ?? {});
      }),
    add: (buildId, page, now) =>
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
        addUnits({ ...build, followsTiers, isRebuild, hasCurrent: before !== undefined, now }, page.items);
        const next = page.next ?? { position: -1, ordinal: 0 };
        advance.run(next.position, next.ordinal, page.items.length, buildId);
        return progressOf(byId.get(buildId) ?? {});
      }, UNHURRIED),
    countTasks: (buildId, now) => database.transaction(() => countTasks(buildId, now), UNHURRIED),
    finish: (buildId, now) =>
      database.transaction(() => {
        if (!progressOf(byId.get(buildId) ?? {}).isComplete) {
          throw new Error(`build ${buildId} has not all units yet`);
        }
        // Most of it was done before, so that this transaction is short.
        while (countTasks(buildId, now));
        return finish(buildId, now);
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
