import { countText } from '../../../domain/count-text.ts';
import type { KnownUnit } from './match-units.ts';
import type { ServiceTask } from './service-pages.ts';

/** States of units that keep a task from being `translated`. */
export const OPEN: ReadonlySet<string> = new Set(['untranslated', 'stale', 'blocked']);

/**
 * Says which tasks cannot become `translated` with the targets of a file: units without a usable target would stay.
 *
 * @param send the targets that nothing speaks against
 * @returns the reason of each such task
 */
export function unfinishedTasks(
  tasks: readonly ServiceTask[],
  send: readonly { readonly unit: Pick<KnownUnit, 'taskId' | 'state'> }[],
): Map<string, string> {
  const sentTo = Map.groupBy(send, ({ unit }) => unit.taskId);
  const reasons = new Map<string, string>();
  for (const { task_id: id, destination, unit_counts: counts } of tasks) {
    const open = [...OPEN].reduce((sum, state) => sum + (counts[state] ?? 0), 0);
    const filled = (sentTo.get(id) ?? []).filter(({ unit }) => OPEN.has(unit.state)).length;
    const missing = open - filled;
    if (missing > 0)
      reasons.set(id, `${id} (${destination}): ${countText(missing, 'unit')} without a usable target`);
  }
  return reasons;
}
