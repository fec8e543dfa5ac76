import type { ReleaseRepository } from '../../releases/records/release-repository.ts';
import { TaskError } from '../../tasks/task.ts';
import type { Rollback, RollbackRecords } from './rollback-records.ts';

/** The records that tell whether a rollback has withdrawn the channel. */
export interface WithdrawalDependencies {
  readonly releases: Pick<ReleaseRepository, 'pointer'>;
  readonly rollbacks: Pick<RollbackRecords, 'stoppedBy'>;
}

/** The rollback since which the channel is withdrawn: nothing is current, and nothing was resumed. Else `null`. */
export function withdrawnBy({ releases, rollbacks }: WithdrawalDependencies): Rollback | null {
  return releases.pointer('localized') === null ? rollbacks.stoppedBy() : null;
}

/** Why a publish must not fill a withdrawn channel, as dry runs show it. */
export interface WithdrawalBlocker {
  readonly code: 'release_rolled_back';
  readonly message: string;
  readonly count: number;
}

/**
 * Whether a rollback has withdrawn the channel and nothing was resumed since. Without an earlier release to compare with, such a
 * rollback holds no unit, so any other publish of stored texts would have those that were taken back.
 *
 * @returns no blocker, or one
 */
export function withdrawalBlockers(
  deps: WithdrawalDependencies,
  { resume }: { readonly resume?: boolean | undefined },
): readonly WithdrawalBlocker[] {
  const rollback = resume === true ? null : withdrawnBy(deps);
  if (rollback === null) return [];
  const message = `the channel is withdrawn since localized release ${rollback.from_release_id} was rolled back; mend the cause, then publish with args=resume=true`;
  return [{ code: 'release_rolled_back', message, count: 1 }];
}

/**
 * Refuses a publish that does not resume while the channel is withdrawn.
 *
 * @throws TaskError `release_rolled_back`
 */
export function requireNotWithdrawn(
  deps: WithdrawalDependencies,
  args: Parameters<typeof withdrawalBlockers>[1],
): void {
  const [blocker] = withdrawalBlockers(deps, args);
  if (blocker !== undefined) throw new TaskError(blocker.code, blocker.message);
}
