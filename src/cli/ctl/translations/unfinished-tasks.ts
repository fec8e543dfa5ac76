import { isOpen } from '../../../domain/translation/unit-state.ts';
import type { PlannedUnit } from './import-plan.ts';
import type { UnitOutcome } from './outcomes.ts';
import type { ServiceTask } from './service-pages.ts';

/**
 * Says which tasks cannot become `translated` with the targets of a file: units without a target, or blocked ones, would stay.
 *
 * @param send the targets that nothing speaks against
 * @param outcomes of the units that are not sent
 * @returns the reason of each such task
 */
export function unfinishedTasks(
  tasks: readonly ServiceTask[],
  send: readonly PlannedUnit[],
  outcomes: readonly UnitOutcome[],
): Map<string, string> {
  const sentTo = Map.groupBy(send, ({ unit }) => unit.taskId);
  const blockedIn = new Set(
    outcomes.flatMap(({ outcome, task_id }) => (outcome === 'blocked' ? [task_id] : [])),
  );
  const reasons = new Map<string, string>();
  for (const { task_id: id, destination, unit_counts: counts } of tasks) {
    const sent = sentTo.get(id) ?? [];
    const open = (counts['untranslated'] ?? 0) + (counts['stale'] ?? 0);
    const missing = open - sent.filter(({ unit }) => isOpen(unit.state)).length;
    const blocked = (counts['blocked'] ?? 0) - sent.filter(({ unit }) => unit.state === 'blocked').length;
    const facts = [
      ...(missing > 0 ? [`${missing} units without a target`] : []),
      ...(blocked > 0 || blockedIn.has(id) ? ['blocked units'] : []),
    ];
    if (facts.length > 0) reasons.set(id, `${id} (${destination}) has ${facts.join(' and ')}`);
  }
  return reasons;
}
