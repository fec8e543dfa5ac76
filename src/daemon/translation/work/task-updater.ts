import type { Database } from '../../database/sqlite-database.ts';
import { createAcceptedFindings } from './accepted-findings.ts';
import { createUpdateExaminer } from './examine-update.ts';
import { createResultStore, requireUsable } from './store-results.ts';
import { createStatusStore } from './store-status.ts';
import type { TaskCounts } from './task-counts.ts';
import { taskFields } from './task-page.ts';
import {
  refuse,
  type ExaminedUpdate,
  type TaskUpdate,
  type UpdateDone,
  type UpdateRefusal,
} from './task-update.ts';
import type { Row } from './target-rows.ts';
import type { TargetStore } from './target-store.ts';
import { createUpdateDecisions } from './update-decisions.ts';
import { UpdateRefused } from './update-refused.ts';
import { createUpdateRules } from './update-rules.ts';
import { createUnitFinder, type PlacedUnits } from './update-units.ts';

/** Updates of translation tasks, all or nothing. */
export interface TaskUpdater {
  /** Says whether an update could be made now, its findings aside; changes nothing. */
  examine(update: TaskUpdate, now: number): ExaminedUpdate | UpdateRefusal;
  /** Makes an update. Everything is examined again, in one transaction with the change. */
  apply(update: TaskUpdate, now: number): UpdateDone | UpdateRefusal;
}

export interface TaskUpdaterOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly targets: TargetStore;
  readonly counts: TaskCounts;
}

/** The tasks were replaced between the two calls of an update, and its targets were judged in other places. */
const TASKS_REPLACED = refuse(
  'backend_unavailable',
  'a newer release replaced the tasks meanwhile; nothing was changed, send the update again',
);

/** Creates the updates of one target language. */
export function createTaskUpdater(options: TaskUpdaterOptions): TaskUpdater {
  const { database, targetLanguage } = options;
  const taskOf = database.prepare(
    'SELECT * FROM task WHERE task_id = ? AND target_language = ? AND is_visible = 1',
  );
  const placeUnits = createUnitFinder(database);
  const checkUpdate = createUpdateRules(options);
  const examine = createUpdateExaminer(database, targetLanguage);
  const write = createWriter(options);
  const find = (update: TaskUpdate, now: number): { task: Row; units: PlacedUnits } | UpdateRefusal => {
    const task = taskOf.get(update.taskId, targetLanguage);
    if (task === undefined) {
      return refuse(
        'unknown_translation_task',
        `no translation task has the id "${update.taskId.slice(0, 64)}"`,
      );
    }
    const units = placeUnits(task, update);
    if (units.isRefused) return units;
    return checkUpdate(task, update, units, now) ?? { task, units };
  };
  return {
    examine: (update, now) => {
      const found = find(update, now);
      if ('isRefused' in found) return found;
      return examine.places(update, found.units);
    },
    apply: (update, now) => {
      try {
        const done = database.transaction(
          () => {
            const found = find(update, now);
            if ('isRefused' in found) return found;
            if (!examine.isCurrent(update.judgedFor)) return TASKS_REPLACED;
            return write(found.task, update, found.units, now);
          },
          { isTrial: update.isTrial },
        );
        if (update.isTrial) options.counts.discard();
        return done;
      } catch (error) {
        options.counts.discard();
        if (error instanceof UpdateRefused) return error.refusal;
        throw error;
      }
    },
  };
}

function createWriter(
  options: TaskUpdaterOptions,
): (task: Row, update: TaskUpdate, units: PlacedUnits, now: number) => UpdateDone {
  const { database, targetLanguage, counts } = options;
  const accepted = createAcceptedFindings(database, targetLanguage);
  const taskOf = database.prepare('SELECT * FROM task WHERE task_seq = ?');
  const storeResults = createResultStore(options, accepted);
  const storeStatus = createStatusStore(options);
  const decide = createUpdateDecisions(options, accepted);
  return (task, update, units, now) => {
    decide.override(update, units, now);
    const { written, repeated } = storeResults(task, update, units, now);
    decide.waiveAndHold(update, units, now);
    if (update.status === 'translated') requireUsable(update, units, options.targets);
    decide.claim(update, units, now);
    for (const { unitId } of update.results) counts.touch(units.at(unitId).taskSeq);
    const seq = Number(task['task_seq']);
    storeStatus(task, update, now);
    counts.touch(seq);
    counts.refresh(now);
    const appliedTo = new Set(update.results.map(({ unitId }) => units.at(unitId).taskId));
    return {
      isRefused: false,
      task: taskFields(taskOf.get(seq) ?? task),
      appliedTo: task['stored_status'] === 'superseded' ? [...appliedTo] : [],
      written: written.map((requestedId) => {
        const { unitId } = units.at(requestedId);
        const target = options.targets.get(unitId);
        return {
          unitId,
          requestedId,
          revision: target?.revision ?? 0,
          state: target?.state ?? 'untranslated',
        };
      }),
      repeated,
    };
  };
}
