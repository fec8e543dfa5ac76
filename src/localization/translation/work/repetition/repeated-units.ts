import { CHUNK_UNITS, TASK_IS_OPEN } from '../store/task-counts.ts';
import { isWithheld } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';

interface RunTasks {
  /** The only task; `null` for all until the last one. */
  readonly taskId: string | null;
  /** The last task, by its place in the order of work; `null` without one. */
  readonly lastTask: number | null;
}

/** The SQL of the units whose target `propagate` copies, from FROM on. The statement has the parameter `:language`. */
export const COPIED_TARGETS = `FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
    JOIN target ON target.unit_id = task_unit.unit_id AND target.target_language = build.target_language
    WHERE build.target_language = :language AND build.state = 'current' AND repeats = 1
    AND target.state IN ('draft', 'translated', 'proofread') AND target.source_digest = task_unit.source_digest
    AND NOT EXISTS (SELECT 1 FROM hold WHERE hold.unit_id = task_unit.unit_id AND hold.target_language = :language)`;

/** The tasks of a run in the order of work. */
const TASKS = `SELECT task_seq FROM task WHERE is_visible = 1 AND ${TASK_IS_OPEN}
  AND untranslated + stale > 0 AND coalesce(task_id = :task_id, 1) ORDER BY task_seq LIMIT :most`;

const OPEN = `SELECT max(task_seq) AS last_task,
  coalesce(sum(open_units) FILTER (WHERE state <> 'failed'), 0) AS units,
  coalesce(sum((open_units + CAST(:step AS INTEGER) - 1) / CAST(:step AS INTEGER)) FILTER (WHERE state <> 'failed'), 0) AS steps,
  coalesce(sum(open_units) FILTER (WHERE state = 'failed'), 0) AS failed
  FROM (${TASKS}) LEFT JOIN chunk USING (task_seq)`;

/**
 * Counts the open units of the tasks that workers may take, in the order of work.
 *
 * @param filter one task, or `null` for the first `maxTasks`
 * @param filter.stepUnits the most units of one step
 * @returns whether the task is known; the units without a usable target, with those that people hold, and without chunks whose
 * attempts are used up; the steps that they need, because no step has units of two chunks; the last of the tasks, `null` without one;
 * their units that got the target of an equal unit before; and the open units of their chunks whose attempts are used up
 */
export function openUnits(
  work: Work,
  {
    taskId,
    maxTasks,
    stepUnits,
  }: { readonly taskId: string | null; readonly maxTasks: number; readonly stepUnits: number },
): {
  readonly isKnown: boolean;
  readonly units: number;
  readonly steps: number;
  readonly lastTask: number | null;
  readonly copied: number;
  readonly failedBefore: number;
} {
  const known = work.sql('SELECT 1 FROM task WHERE task_id = ? AND is_visible = 1');
  const isKnown = taskId === null || known.get(taskId) !== undefined;
  const row = work.sql(OPEN).get({ task_id: taskId, most: maxTasks, step: stepUnits });
  const lastTask = row?.['last_task'] as number | null;
  return {
    isKnown,
    units: Number(row?.['units']),
    steps: Number(row?.['steps']),
    lastTask,
    copied: copiedIn(work, { taskId, lastTask }),
    failedBefore: Number(row?.['failed']),
  };
}

const WITHHELD = `SELECT
  coalesce(sum(open_units) FILTER (WHERE chunk.state = 'retry_wait' AND chunk.next_attempt_at > :now
    AND chunk.task_seq || '/' || chunk.number NOT IN (SELECT value FROM json_each(:known))), 0) AS delayed,
  coalesce(sum(open_units) FILTER (WHERE chunk.state = 'leased' AND chunk.lease_expires_at > :now), 0) AS leased
  FROM chunk JOIN task USING (task_seq) WHERE chunk.state IN ('retry_wait', 'leased')
  AND open_units > 0 AND is_visible = 1 AND ${TASK_IS_OPEN}
  AND chunk.task_seq <= :last_task AND coalesce(task_id = :task_id, 1)`;

/**
 * Counts the open units of chunks that no run may take now: those that failed before and are to be tried later, and those that are
 * leased.
 *
 * @param tasks the tasks, and the delayed chunks that are not counted, as `task/number`
 */
export function withheldUnits(
  work: Work,
  { taskId, lastTask, known }: RunTasks & { readonly known: readonly string[] },
): { readonly delayed: number; readonly leased: number } {
  const query = { task_id: taskId, last_task: lastTask ?? -1, now: work.now(), known: JSON.stringify(known) };
  const row = work.sql(WITHHELD).get(query);
  return { delayed: Number(row?.['delayed']), leased: Number(row?.['leased']) };
}

const WAITING = `WITH ready AS MATERIALIZED (SELECT repetition FROM changed_repetition AS changed
    WHERE changed.target_language = :language
    AND EXISTS (SELECT 1 ${COPIED_TARGETS} AND task_unit.repetition = changed.repetition))
  SELECT count(*) AS units FROM ready CROSS JOIN task_unit ON task_unit.repetition = ready.repetition
  JOIN task USING (task_seq) JOIN build USING (build_id)
  JOIN chunk ON chunk.task_seq = task_unit.task_seq AND chunk.number = task_unit.number / ${CHUNK_UNITS}
  LEFT JOIN target ON target.unit_id = task_unit.unit_id AND target.target_language = :language
  WHERE build.target_language = :language AND build.state = 'current' AND repeats = 1 AND ${TASK_IS_OPEN}
  AND task_unit.task_seq <= :last_task AND coalesce(task_id = :task_id, 1) AND chunk.state <> 'failed'
  AND (target.unit_id IS NULL OR target.state = 'stale') AND NOT ${isWithheld('task_unit.unit_id')}`;

/**
 * Counts units of some tasks: those that got the target of an equal unit since the file was opened, from 0 again with every new
 * build; and those that will get one. It reads the groups that wait for `propagate`, each unit of them twice at most: about 3
 * seconds when all of 1,000,000 units wait.
 */
export function repeatedUnits(
  work: Work,
  tasks: RunTasks,
): { readonly copied: number; readonly waiting: number } {
  const { taskId, lastTask } = tasks;
  if (lastTask === null) return { copied: 0, waiting: 0 };
  const query = { language: work.targetLanguage, task_id: taskId, last_task: lastTask, now: work.now() };
  return { copied: copiedIn(work, tasks), waiting: Number(work.sql(WAITING).get(query)?.['units']) };
}

function copiedIn({ copied }: Work, { taskId, lastTask }: RunTasks): number {
  if (lastTask === null) return 0;
  if (taskId !== null) return copied.get(lastTask) ?? 0;
  return [...copied].reduce((sum, [taskSeq, count]) => (taskSeq <= lastTask ? sum + count : sum), 0);
}

/**
 * Notes that an open unit got the target of an equal unit. Units whose part of the task has failed are not noted. Nothing
 * is stored, because a run does not outlive the process.
 */
export function noteCopied({ copied }: Work, taskSeq: number): void {
  copied.set(taskSeq, (copied.get(taskSeq) ?? 0) + 1);
}

/** A container of the current tasks, and whether its rule lets its units take part in repetitions. */
interface RepeatingContainer {
  readonly taskSeq: number;
  readonly destination: string;
  readonly archiveEntry: string | null;
  readonly repeats: boolean;
}

const PAGE_TASKS = 200;
const CONTAINERS = `SELECT task_seq, destination, archive_entry, repeats FROM task JOIN build USING (build_id)
  WHERE build.target_language = ? AND build.state = 'current' AND task_seq > ? ORDER BY task_seq LIMIT ${PAGE_TASKS}`;

/** The containers after a task, in pages. */
export function repeatingContainers(work: Work, afterTask: number): readonly RepeatingContainer[] {
  return work
    .sql(CONTAINERS)
    .all(work.targetLanguage, afterTask)
    .map((row) => ({
      taskSeq: Number(row['task_seq']),
      destination: String(row['destination']),
      archiveEntry: row['archive_entry'] as string | null,
      repeats: row['repeats'] === 1,
    }));
}

/** Writes which containers take part. */
export function setRepeating(
  work: Work,
  changes: readonly { readonly taskSeq: number; readonly repeats: boolean }[],
): void {
  work.database.transaction(() => {
    for (const { taskSeq, repeats } of changes) {
      work.sql('UPDATE task SET repeats = ? WHERE task_seq = ?').run(repeats ? 1 : 0, taskSeq);
    }
  });
}
