import { areCurrent, currentTasks, type BuiltFor } from '../store/builds.ts';
import { storeJudgement } from '../store/new-judgement.ts';
import { containerKey, type Finding, type JudgedBy } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import { refreshTasks, taskRow } from '../store/task-counts.ts';
import type { Work, WorkReader } from '../store/work.ts';
import { writeReason } from './requalified-reason.ts';

interface TargetToRequalify {
  readonly unitId: Uint8Array;
  readonly revision: number;
  /** In the file. */
  readonly ordinal: number;
  readonly text: string;
}

/** A part of one task whose targets are judged again. */
interface RequalifiedPart {
  readonly builtFor: BuiltFor;
  readonly taskSeq: number;
  readonly wasProofread: boolean;
  /** How often targets that were judged by something else were stored in the task so far. */
  readonly resets: number;
  /** The number of the last unit that was read; `null` when the task has no more. */
  readonly upTo: number | null;
}

/** Targets of one task to judge again. */
export interface RequalifyPage extends RequalifiedPart {
  readonly destination: string;
  readonly items: readonly TargetToRequalify[];
}

/** The new judgements of a page. */
export interface RequalifiedBatch extends RequalifiedPart {
  readonly by: JudgedBy;
  readonly items: readonly {
    readonly unitId: Uint8Array;
    readonly revision: number;
    readonly findings: readonly Finding[];
    readonly qaIdentity: string;
  }[];
}

/** How many targets a batch changed. */
export interface RequalifiedCounts {
  /** Whether the whole task is judged now. */
  readonly isTaskDone: boolean;
  /** Whether a target that was judged by something else was stored in the task meanwhile: another run begins the task again. */
  readonly isTaskReopened: boolean;
  readonly blocked: number;
  readonly freed: number;
}

const PAGE_UNITS = 200;
/** UTF-16 code units of targets after which a page ends. */
const PAGE_CHARACTERS = 256 * 1024;

/** Tasks with targets that were judged by other rules or another Glossary. */
const OTHERS = `FROM task JOIN build USING (build_id) LEFT JOIN proofread_container AS accepted
  ON accepted.target_language = build.target_language AND accepted.destination = task.destination
  AND coalesce(accepted.archive_entry, '') = coalesce(task.archive_entry, '')
  WHERE build.target_language = :language AND build.state = 'current' AND stored_status IS NOT 'skipped'
  AND draft + translated + proofread + blocked > 0
  AND judged_by IS NOT iif(accepted.at IS NULL, :key, :key || ' proofread')`;
const NEXT_TASK = `SELECT task.*, accepted.at IS NOT NULL AS was_proofread ${OTHERS} AND task_seq >= :from ORDER BY task_seq LIMIT 1`;

/** How many tasks have targets that were judged by something else. */
export function tasksToRequalify(work: Work, key: string): number {
  const count = work.sql(`SELECT count(*) AS count ${OTHERS}`);
  return Number(count.get({ language: work.targetLanguage, key })?.['count'] ?? 0);
}

/** Whether there is a task with targets that were judged by something else. */
export function mustRequalify(work: WorkReader, key: string): boolean {
  return work.sql(`SELECT 1 ${OTHERS} LIMIT 1`).get({ language: work.targetLanguage, key }) !== undefined;
}

/**
 * The next targets to judge again: of the first such task from a place on. `null` when there is none. The task is marked with what
 * judges it: when a target that was judged by something else is stored from then on, the task begins again.
 */
export function requalifyPage(
  work: Work,
  { by: { key }, fromTask }: { readonly by: JudgedBy; readonly fromTask: number },
): RequalifyPage | null {
  return work.database.transaction(() => {
    const task = work.sql(NEXT_TASK).get({ language: work.targetLanguage, key, from: fromTask });
    if (task === undefined) return null;
    const taskSeq = Number(task['task_seq']);
    const wasProofread = task['was_proofread'] === 1;
    const taskKey = containerKey(key, wasProofread);
    const continues = task['judging_by'] === taskKey;
    if (!continues) {
      work.sql('UPDATE task SET judging_by = ?, judging_from = -1 WHERE task_seq = ?').run(taskKey, taskSeq);
    }
    return {
      builtFor: currentTasks(work),
      taskSeq,
      destination: String(task['destination']),
      wasProofread,
      resets: Number(task['judging_resets']),
      ...readTargets(work, taskSeq, continues ? Number(task['judging_from']) : -1),
    };
  });
}

const UNITS = `SELECT number, ordinal, target.unit_id, revision, target_text FROM task_unit
  JOIN target ON target.unit_id = task_unit.unit_id AND target_language = ?
  WHERE task_seq = ? AND number > ? AND state IN ('draft', 'translated', 'proofread', 'blocked')
  AND target.source_digest = task_unit.source_digest ORDER BY number LIMIT ${PAGE_UNITS}`;

function readTargets(
  work: Work,
  taskSeq: number,
  after: number,
): { readonly items: readonly TargetToRequalify[]; readonly upTo: number | null } {
  const items: TargetToRequalify[] = [];
  let characters = 0;
  for (const row of work.sql(UNITS).iterate(work.targetLanguage, taskSeq, after)) {
    const text = String(row['target_text']);
    items.push({
      unitId: row['unit_id'] as Uint8Array,
      revision: Number(row['revision']),
      ordinal: Number(row['ordinal']),
      text,
    });
    characters += text.length;
    if (items.length === PAGE_UNITS || characters >= PAGE_CHARACTERS)
      return { items, upTo: Number(row['number']) };
  }
  return { items, upTo: null };
}

// A target that was judged by something else removes the mark of its task. Another run begins the task again: this one would not end while
// such targets are stored. Its mark may exist already, so the count of removals distinguishes the runs.
const ADVANCE =
  'UPDATE task SET judging_from = :upTo WHERE task_seq = :taskSeq AND judging_by = :key AND judging_resets = :resets';
const FINISH = `UPDATE task SET judged_by = :key, judging_by = NULL, judging_from = -1
  WHERE task_seq = :taskSeq AND judging_by = :key AND judging_resets = :resets`;

/**
 * Stores new judgements: a state that changes, and the findings of what keeps its state. A target that changed since its page is
 * left out, because it was judged then.
 *
 * @returns `null` when other tasks replaced those of the page, and nothing was written
 */
export function storeRequalified(work: Work, batch: RequalifiedBatch): RequalifiedCounts | null {
  const { builtFor, taskSeq, wasProofread, resets, upTo, by, items } = batch;
  return work.database.transaction(() => {
    const task = taskRow(work, taskSeq);
    if (task === undefined || !areCurrent(work, builtFor)) return null;
    const key = containerKey(by.key, wasProofread);
    const judge = {
      judgedBy: { ...by, key },
      taskId: String(task['task_id']),
      releaseId: String(task['release_id']),
    };
    const changes = items.map((item) => {
      const target = getTarget(work, item.unitId);
      if (target?.revision !== item.revision) return null;
      return storeJudgement(work, target, item, judge, 'requalified');
    });
    const { changes: marked } =
      upTo === null
        ? work.sql(FINISH).run({ key, taskSeq, resets })
        : work.sql(ADVANCE).run({ key, upTo, taskSeq, resets });
    const isTaskReopened = Number(marked) === 0;
    const isTaskDone = upTo === null && !isTaskReopened;
    const hasNewReason = isTaskDone && writeReason(work, taskSeq);
    // A task of which nothing changed keeps its time, by which readers know whether they have its newest state.
    if (hasNewReason || changes.some((change) => change !== null)) work.touched.add(taskSeq);
    refreshTasks(work);
    return {
      isTaskDone,
      isTaskReopened,
      blocked: changes.filter((change) => change === 'blocked').length,
      freed: changes.filter((change) => change === 'freed').length,
    };
  });
}
