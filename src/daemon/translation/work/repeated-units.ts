import type { Database } from '../../database/sqlite-database.ts';
import { TASK_IS_OPEN } from './open-tasks.ts';
import { CHUNK_UNITS } from './task-counts.ts';
import { isWithheld } from './withheld-units.ts';

/** The tasks of a run of workers. */
export interface RunTasks {
  /** The only task; `null` for all until the last one. */
  readonly taskId: string | null;
  /** The last task, by its place in the order of work; `null` without one. */
  readonly lastTask: number | null;
}

/** Counts the open units that the job `propagate` gives the target of an equal unit. */
export interface RepeatedUnits {
  /** Notes that an open unit of a build got such a target. Units whose part of the task has failed are not noted. */
  add(buildId: number, taskSeq: number): void;
  /**
   * Units of some tasks that got such a target since the file was opened. It begins at 0 again with every new build. Nothing is
   * stored: a run ends with the process, too.
   */
  copied(tasks: RunTasks): number;
  /**
   * Open units of some tasks that will get such a target. People do not hold them, and their part of the task has not failed. It
   * reads the groups that wait for `propagate`, each unit of them twice at most: some 3 seconds when all of 1,000,000 units wait.
   *
   * @param now Unix seconds
   */
  waiting(tasks: RunTasks, now: number): number;
}

/** The SQL of the units whose target `propagate` copies, from FROM on. The statement has the parameter `:language`. */
export const COPIED_TARGETS = `FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
    JOIN target ON target.unit_id = task_unit.unit_id AND target.target_language = build.target_language
    WHERE build.target_language = :language AND build.state = 'current' AND repeats = 1
    AND target.state IN ('draft', 'translated', 'proofread') AND target.source_digest = task_unit.source_digest
    AND NOT EXISTS (SELECT 1 FROM hold WHERE hold.unit_id = task_unit.unit_id AND hold.target_language = :language)`;

/** Creates the counts of one target language. */
export function createRepeatedUnits(database: Database, targetLanguage: string): RepeatedUnits {
  const waiting = database.prepare(
    `WITH ready AS MATERIALIZED (SELECT repetition FROM changed_repetition AS changed
      WHERE changed.target_language = :language
      AND EXISTS (SELECT 1 ${COPIED_TARGETS} AND task_unit.repetition = changed.repetition))
     SELECT count(*) AS units FROM ready CROSS JOIN task_unit ON task_unit.repetition = ready.repetition
     JOIN task USING (task_seq) JOIN build USING (build_id)
     JOIN chunk ON chunk.task_seq = task_unit.task_seq AND chunk.number = task_unit.number / ${CHUNK_UNITS}
     LEFT JOIN target ON target.unit_id = task_unit.unit_id AND target.target_language = :language
     WHERE build.target_language = :language AND build.state = 'current' AND repeats = 1 AND ${TASK_IS_OPEN}
     AND task_unit.task_seq <= :last_task AND coalesce(task_id = :task_id, 1) AND chunk.state <> 'failed'
     AND (target.unit_id IS NULL OR target.state = 'stale') AND NOT ${isWithheld('task_unit.unit_id')}`,
  );
  const copied = new Map<number, number>();
  let counted: number | null = null;
  return {
    add: (buildId, taskSeq) => {
      if (buildId !== counted) copied.clear();
      counted = buildId;
      copied.set(taskSeq, (copied.get(taskSeq) ?? 0) + 1);
    },
    copied: ({ taskId, lastTask }) => {
      if (lastTask === null) return 0;
      if (taskId !== null) return copied.get(lastTask) ?? 0;
      return [...copied].reduce((sum, [taskSeq, units]) => (taskSeq <= lastTask ? sum + units : sum), 0);
    },
    waiting: ({ taskId, lastTask }, now) => {
      if (lastTask === null) return 0;
      const row = waiting.get({ language: targetLanguage, task_id: taskId, last_task: lastTask, now });
      return Number(row?.['units']);
    },
  };
}
