import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { containerKey, type Finding, type JudgedBy } from '../store/target-rows.ts';
import { createBuildMark, type BuildMark, type BuiltFor } from '../store/task-update.ts';
import { createNewJudgements } from '../store/new-judgement.ts';
import { createTaskReasons } from './requalified-reason.ts';
import type { WorkTools } from '../store/work-tools.ts';

interface TargetToRequalify {
  readonly unitId: Uint8Array;
  readonly revision: number;
  /** In the file. */
  readonly ordinal: number;
  readonly text: string;
}

/** Targets of one task to judge again. */
export interface RequalifyPage {
  readonly builtFor: BuiltFor;
  readonly taskSeq: number;
  /** Position of the file in the parse index. */
  readonly indexPosition: number;
  readonly wasProofread: boolean;
  /** How often targets that were judged by something else were stored in the task so far. */
  readonly resets: number;
  readonly items: readonly TargetToRequalify[];
  /** The number of the last unit that was looked at; `null` when the task has no more. */
  readonly upTo: number | null;
}

/** The new judgements of a page. */
export interface RequalifiedBatch extends Pick<
  RequalifyPage,
  'builtFor' | 'taskSeq' | 'wasProofread' | 'resets' | 'upTo'
> {
  readonly by: JudgedBy;
  readonly items: readonly (Pick<TargetToRequalify, 'unitId' | 'revision'> & {
    readonly findings: readonly Finding[];
    readonly qaIdentity: string;
  })[];
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

/** Judges stored targets again when rules or the Glossary have changed. How far it is, is stored with each task. */
export interface RequalifiedTargets {
  /** How many tasks have targets that were judged by something else. */
  tasksToRequalify(key: string): number;
  /** Whether there is such a task. */
  mustRequalify(key: string): boolean;
  /**
   * The next targets: of the first such task from a place on. `null` when there is none. The task is marked with what judges it:
   * when a target that was judged by something else is stored from then on, the task begins again.
   */
  requalifyPage(from: { readonly by: JudgedBy; readonly fromTask: number }): RequalifyPage | null;
  /**
   * Stores new judgements: a state that changes, and the findings of what keeps its state. A target that changed since its page is
   * left out, because it was judged then.
   *
   * @returns `null` when other tasks replaced those of the page, and nothing was written
   */
  storeRequalified(batch: RequalifiedBatch): RequalifiedCounts | null;
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

/** Creates the test whether there is a task with targets that must be judged again. */
export function createWaitingTest(
  database: Pick<Database, 'prepare'>,
  targetLanguage: string,
): (key: string) => boolean {
  const some = database.prepare(`SELECT 1 ${OTHERS} LIMIT 1`);
  return (key) => some.get({ language: targetLanguage, key }) !== undefined;
}

/** Creates the new judgements of one target language. */
export function createRequalifiedTargets(tools: WorkTools): RequalifiedTargets {
  const { database, targetLanguage } = tools;
  const mark = createBuildMark(database, targetLanguage);
  const count = database.prepare(`SELECT count(*) AS count ${OTHERS}`);
  const next = database.prepare(
    `SELECT task.*, accepted.at IS NOT NULL AS was_proofread ${OTHERS} AND task_seq >= :from ORDER BY task_seq LIMIT 1`,
  );
  const claim = database.prepare('UPDATE task SET judging_by = ?, judging_from = -1 WHERE task_seq = ?');
  const readUnits = createUnitReader(database, targetLanguage);
  return {
    tasksToRequalify: (key) => Number(count.get({ language: targetLanguage, key })?.['count'] ?? 0),
    mustRequalify: createWaitingTest(database, targetLanguage),
    requalifyPage: ({ by: { key }, fromTask: from }) =>
      database.transaction(() => {
        const task = next.get({ language: targetLanguage, key, from });
        if (task === undefined) return null;
        const taskSeq = Number(task['task_seq']);
        const wasProofread = task['was_proofread'] === 1;
        const taskKey = containerKey(key, wasProofread);
        const continues = task['judging_by'] === taskKey;
        if (!continues) claim.run(taskKey, taskSeq);
        return {
          builtFor: mark.current(),
          taskSeq,
          indexPosition: Number(task['index_position']),
          wasProofread,
          resets: Number(task['judging_resets']),
          ...readUnits(taskSeq, continues ? Number(task['judging_from']) : -1),
        };
      }),
    storeRequalified: createBatchStore(tools, mark),
  };
}

function createUnitReader(
  database: Database,
  targetLanguage: string,
): (taskSeq: number, after: number) => Pick<RequalifyPage, 'items' | 'upTo'> {
  const find = database.prepare(`SELECT number, ordinal, target.unit_id, revision, target_text FROM task_unit
    JOIN target ON target.unit_id = task_unit.unit_id AND target_language = ?
    WHERE task_seq = ? AND number > ? AND state IN ('draft', 'translated', 'proofread', 'blocked')
    AND target.source_digest = task_unit.source_digest ORDER BY number LIMIT ${PAGE_UNITS}`);
  return (taskSeq, after) => {
    const items: TargetToRequalify[] = [];
    let characters = 0;
    for (const row of find.iterate(targetLanguage, taskSeq, after)) {
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
  };
}

function createBatchStore(tools: WorkTools, mark: BuildMark): RequalifiedTargets['storeRequalified'] {
  const { database, targetLanguage, targets, counts, now } = tools;
  const storeJudgement = createNewJudgements(tools);
  const taskOf = database.prepare('SELECT task_id, release_id FROM task WHERE task_seq = ?');
  // A target that was judged by something else removes the mark of its task. Another run begins the task again: this one would not end while
  // such targets are stored. Its mark may be there already, so the count of removals tells the runs apart.
  const advance = database.prepare(
    'UPDATE task SET judging_from = :upTo WHERE task_seq = :taskSeq AND judging_by = :key AND judging_resets = :resets',
  );
  const finish = database.prepare(`UPDATE task SET judged_by = :key, judging_by = NULL, judging_from = -1
    WHERE task_seq = :taskSeq AND judging_by = :key AND judging_resets = :resets`);
  const reasons = createTaskReasons(database, targetLanguage);
  return ({ builtFor, taskSeq, wasProofread, resets, upTo, by, items }) =>
    database.transaction(() => {
      const task = taskOf.get(taskSeq);
      if (task === undefined || !mark.isCurrent(builtFor)) return null;
      const place = { taskId: String(task['task_id']), releaseId: String(task['release_id']) };
      const key = containerKey(by.key, wasProofread);
      const changes = items.map(({ unitId, revision, ...judgement }) => {
        const target = targets.get(unitId);
        if (target?.revision !== revision) return null;
        return storeJudgement(target, {
          ...judgement,
          ...place,
          cause: 'requalified',
          judgedBy: { ...by, key },
        });
      });
      const { changes: marked } =
        upTo === null ? finish.run({ key, taskSeq, resets }) : advance.run({ key, upTo, taskSeq, resets });
      const isTaskReopened = Number(marked) === 0;
      const isTaskDone = upTo === null && !isTaskReopened;
      const hasNewReason = isTaskDone && reasons.write(taskSeq);
      // A task of which nothing changed keeps its time, which tells readers whether they have its newest state.
      if (hasNewReason || changes.some((change) => change !== null)) counts.touch(taskSeq);
      counts.refresh(now());
      return {
        isTaskDone,
        isTaskReopened,
        blocked: changes.filter((change) => change === 'blocked').length,
        freed: changes.filter((change) => change === 'freed').length,
      };
    });
}
