import {
  createBuildMark,
  type BuiltFor,
  type ExaminedContainer,
  type ExaminedUpdate,
  type TaskUpdate,
} from '../store/task-update.ts';
import { createProofreadContainers } from '../store/proofread-containers.ts';
import type { WorkTools } from '../store/work-tools.ts';
import type { PlacedUnits } from './update-units.ts';

/** Says where the units of an update are, so that their targets can be judged. */
interface UpdateExaminer {
  places(update: TaskUpdate, units: PlacedUnits): ExaminedUpdate;
  /** Whether the current tasks are those that targets were judged for; `null`: there was no target. */
  isCurrent(judgedFor: BuiltFor | null): boolean;
}

/** Creates the examiner of one target language. */
export function createUpdateExaminer({ database, targetLanguage }: WorkTools): UpdateExaminer {
  const mark = createBuildMark(database, targetLanguage);
  const taskOf = database.prepare('SELECT * FROM task WHERE task_seq = ?');
  const proofread = createProofreadContainers(database, targetLanguage);
  return {
    places: (update, units) => {
      const containers = new Map<
        number,
        ExaminedContainer & { units: { result: number; ordinal: number }[] }
      >();
      for (const [result, { unitId }] of update.results.entries()) {
        const { taskSeq, ordinal } = units.at(unitId);
        let container = containers.get(taskSeq);
        if (container === undefined) {
          const task = taskOf.get(taskSeq) ?? {};
          const destination = String(task['destination']);
          const archiveEntry = task['archive_entry'] as string | null;
          container = {
            indexPosition: Number(task['index_position']),
            wasProofread: proofread.has(destination, archiveEntry),
            units: [],
          };
          containers.set(taskSeq, container);
        }
        container.units.push({ result, ordinal });
      }
      return { isRefused: false, builtFor: mark.current(), containers: [...containers.values()] };
    },
    isCurrent: (judgedFor) => judgedFor === null || mark.isCurrent(judgedFor),
  };
}
