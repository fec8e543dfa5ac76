import { CHUNK_UNITS, TASK_IS_OPEN } from '../store/task-counts.ts';
import { isWithheld } from '../store/withheld-units.ts';
import type { WorkTools } from '../store/work-tools.ts';

interface RunTasks {
  /** The only task; `null` for all until the last one. */
  readonly taskId: string | null;
  /** The last task, by its place in the order of work; `null` without one. */
  readonly lastTask: number | null;
}

interface OpenUnits {
  readonly isKnown: boolean;
  /** Units without a usable target, in the tasks that the run may begin. Units that people hold are counted, too; those of
   * chunks whose attempts are used up are not. */
  readonly units: number;
  /** The last of these tasks; `null` without one. */
  readonly lastTask: number | null;
  /** Units of these tasks that got the target of an equal unit before. */
  readonly copied: number;
}

/** Counts the open units of tasks, and those that the job `propagate` gives the target of an equal unit. */
export interface RepeatedUnits {
  /** Counts the open units of the tasks that workers may take, in the order of work. @param filter one task, or `null` for the first `maxTasks` */
  openUnits(filter: { readonly taskId: string | null; readonly maxTasks: number }): OpenUnits;
  /**
   * Counts units of some tasks: those that got the target of an equal unit since the file was opened, from 0 again with every new
   * build; and those that will get one. It reads the groups that wait for `propagate`, each unit of them twice at most: about 3
   * seconds when all of 1,000,000 units wait.
   */
  repeatedUnits(tasks: RunTasks): { readonly copied: number; readonly waiting: number };
}

/** The SQL of the units whose target `propagate` copies, from FROM on. The statement has the parameter `:language`. */
export const COPIED_TARGETS = `FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
    JOIN target ON target.unit_id = task_unit.unit_id AND target.target_language = build.target_language
    WHERE build.target_language = :language AND build.state = 'current' AND repeats = 1
    AND target.state IN ('draft', 'translated', 'proofread') AND target.source_digest = task_unit.source_digest
    AND NOT EXISTS (SELECT 1 FROM hold WHERE hold.unit_id = task_unit.unit_id AND hold.target_language = :language)`;

/**
 * Creates the counts of one target language.
 *
 * @returns the counts, and a function that notes that an open unit of a build got such a target. Units whose part of the task has failed
 * are not noted. Nothing is stored: a run ends with the process, too
 */
export function createRepeatedUnits({ database, targetLanguage, now }: WorkTools): {
  counts: RepeatedUnits;
  note: (buildId: number, taskSeq: number) => void;
} {
  const known = database.prepare('SELECT 1 FROM task WHERE task_id = ? AND is_visible = 1');
  const open = database.prepare(
    `SELECT coalesce(sum(open), 0) AS units, max(task_seq) AS last_task FROM (SELECT task_seq, coalesce((SELECT sum(open_units) FROM chunk
     WHERE chunk.task_seq = task.task_seq AND state <> 'failed'), 0) AS open FROM task
     WHERE is_visible = 1 AND ${TASK_IS_OPEN}
     AND untranslated + stale > 0 AND coalesce(task_id = ?, 1) ORDER BY task_seq LIMIT ?)`,
  );
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
  const copiedIn = ({ taskId, lastTask }: RunTasks): number => {
    if (lastTask === null) return 0;
    if (taskId !== null) return copied.get(lastTask) ?? 0;
    return [...copied].reduce((sum, [taskSeq, units]) => (taskSeq <= lastTask ? sum + units : sum), 0);
  };
  const waitingIn = ({ taskId, lastTask }: RunTasks): number => {
    if (lastTask === null) return 0;
    const query = { language: targetLanguage, task_id: taskId, last_task: lastTask, now: now() };
    return Number(waiting.get(query)?.['units']);
  };
  return {
    note: (buildId, taskSeq) => {
      if (buildId !== counted) copied.clear();
      counted = buildId;
      copied.set(taskSeq, (copied.get(taskSeq) ?? 0) + 1);
    },
    counts: {
      openUnits: ({ taskId, maxTasks }) => {
        const isKnown = taskId === null || known.get(taskId) !== undefined;
        const row = open.get(taskId, maxTasks);
        const lastTask = row?.['last_task'] as number | null;
        return { isKnown, units: Number(row?.['units']), lastTask, copied: copiedIn({ taskId, lastTask }) };
      },
      repeatedUnits: (tasks) => ({ copied: copiedIn(tasks), waiting: waitingIn(tasks) }),
    },
  };
}
