import { createAcceptedFindings } from '../store/accepted-findings.ts';
import { createUpdateExaminer } from './examine-update.ts';
import { createResultStore, requireUsable } from './store-results.ts';
import { createStatusStore } from './store-status.ts';
import { taskFields } from '../store/task-page.ts';
import {
  UpdateRefused,
  refuse,
  type ExaminedUpdate,
  type TaskUpdate,
  type UpdateDone,
  type UpdateRefusal,
} from '../store/task-update.ts';
import type { Row } from '../store/target-rows.ts';
import type { WorkTools } from '../store/work-tools.ts';
import { createUpdateDecisions } from './update-decisions.ts';
import { createUpdateRules } from './update-rules.ts';
import { createUnitFinder, type PlacedUnits } from './update-units.ts';

/** Updates of translation tasks, all or nothing. */
export interface TaskUpdater {
  /** Says whether an update could be made now, its findings aside; changes nothing. */
  examineUpdate(update: TaskUpdate): ExaminedUpdate | UpdateRefusal;
  /** Makes an update. Everything is examined again, in one transaction with the change. */
  applyUpdate(update: TaskUpdate): UpdateDone | UpdateRefusal;
}

/** The tasks were replaced between the two calls of an update, and its targets were judged in other places. */
const TASKS_REPLACED = refuse(
  'backend_unavailable',
  'a newer release replaced the tasks meanwhile; nothing was changed, send the update again',
);

/** Creates the updates of one target language. */
export function createTaskUpdater(tools: WorkTools): TaskUpdater {
  const { database, targetLanguage, now } = tools;
  const taskOf = database.prepare(
    'SELECT * FROM task WHERE task_id = ? AND target_language = ? AND is_visible = 1',
  );
  const placeUnits = createUnitFinder(database);
  const checkUpdate = createUpdateRules(tools);
  const examine = createUpdateExaminer(tools);
  const write = createWriter(tools);
  const find = (update: TaskUpdate): { task: Row; units: PlacedUnits } | UpdateRefusal => {
    const task = taskOf.get(update.taskId, targetLanguage);
    if (task === undefined) {
      return refuse(
        'unknown_translation_task',
        `no translation task has the id "${update.taskId.slice(0, 64)}"`,
      );
    }
    const units = placeUnits(task, update);
    if (units.isRefused) return units;
    return checkUpdate(task, update, units) ?? { task, units };
  };
  return {
    examineUpdate: (update) => {
      const found = find(update);
      if ('isRefused' in found) return found;
      return examine.places(update, found.units);
    },
    applyUpdate: (update) => {
      try {
        const done = database.transaction(
          () => {
            const found = find(update);
            if ('isRefused' in found) return found;
            if (!examine.isCurrent(update.judgedFor)) return TASKS_REPLACED;
            return write(found.task, update, found.units, now());
          },
          { isTrial: update.isTrial },
        );
        if (update.isTrial) tools.counts.discard();
        return done;
      } catch (error) {
        tools.counts.discard();
        if (error instanceof UpdateRefused) return error.refusal;
        throw error;
      }
    },
  };
}

function createWriter(
  tools: WorkTools,
): (task: Row, update: TaskUpdate, units: PlacedUnits, now: number) => UpdateDone {
  const { database, targetLanguage, counts, targets } = tools;
  const accepted = createAcceptedFindings(database, targetLanguage);
  const taskOf = database.prepare('SELECT * FROM task WHERE task_seq = ?');
  const storeResults = createResultStore(tools, accepted);
  const storeStatus = createStatusStore(tools);
  const decide = createUpdateDecisions(tools, accepted);
  return (task, update, units, now) => {
    decide.override(update, units, now);
    const { written, repeated } = storeResults(task, update, units, now);
    decide.waiveAndHold(update, units, now);
    if (update.status === 'translated') requireUsable(update, units, targets);
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
        const target = targets.get(unitId);
        return {
          unitId,
          requestedId,
          revision: target?.revision ?? 0,
          state: target?.state ?? 'untranslated',
        };
      }),
      repeated,
      event: update.isTrial
        ? null
        : tools.eventOf({ judgedBy: update.results.map((result) => result.judgedBy) }),
    };
  };
}
