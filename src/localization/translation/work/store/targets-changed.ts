import type { TargetsChanged } from '../../../text-events.ts';
import { wantsRepetitions } from './repetition-queue.ts';
import type { JudgedBy } from './target-rows.ts';
import type { Work } from './work.ts';

/**
 * The event of stored targets.
 *
 * @param change.judgedBy of the new targets
 * @param change.neverRepeats whether no unit can get a target from it
 */
export function targetsChanged(
  work: Work,
  change: {
    readonly judgedBy?: readonly (JudgedBy | null)[];
    readonly hasMoved?: boolean;
    readonly isOfRun?: boolean;
    readonly neverRepeats?: boolean;
  },
): TargetsChanged {
  const { judgedBy = [], hasMoved = false, isOfRun = false, neverRepeats = false } = change;
  return {
    kind: 'targets_changed',
    judgedBy: [...new Set(judgedBy.flatMap((by) => by?.key ?? []))],
    hasMoved,
    mayRepeat: !neverRepeats && wantsRepetitions(work),
    isOfRun,
  };
}
