import { useApp } from '../../state/app.ts';
import { unitReader } from '../editor/scan-units.ts';
import type { TranslationTask } from '../editor/translation-task.ts';
import { containerQuery } from '../editor/unit.ts';
import { useUnitScan, type UnitScan } from '../editor/use-unit-scan.ts';
import { isWaiting, type ReviewScope } from './review-model.ts';

/** Units that are gathered before the reviewer asks for more. */
const ENOUGH = 200;

/** The units of a task that wait for a decision. */
export function useWaitingUnits(task: TranslationTask, scope: ReviewScope): UnitScan {
  const app = useApp();
  return useUnitScan({
    question: `${task.task_id} ${scope}`,
    read: unitReader(app, containerQuery(task)),
    isWanted: (unit) => isWaiting(unit, scope),
    enough: ENOUGH,
  });
}
