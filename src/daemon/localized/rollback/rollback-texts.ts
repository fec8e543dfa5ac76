import type { Rollback, RollbackRecords } from './rollback-records.ts';

/** The work on translations as rollbacks use it. */
export interface RollbackTexts {
  /** Puts the units on hold whose text the rollback takes back. @returns how many */
  hold(taken: {
    readonly from: string;
    readonly to: string | null;
    readonly reviewer: string | null;
    readonly reason: string | null;
  }): Promise<number>;
  /** Marks the tasks as published whose texts are those of this release, and no others. */
  markPublished(localizedReleaseId: string | null): Promise<void>;
}

/** Puts the units of a recorded rollback on hold. */
export async function holdUnits(
  texts: Pick<RollbackTexts, 'hold'>,
  { from_release_id: from, to_release_id: to, reviewer, reason }: Rollback,
): Promise<number> {
  return await texts.hold({ from, to, reviewer, reason });
}

/**
 * Puts the units on hold of rollbacks that ended before they could, so that the next publish does not bring their texts back.
 *
 * @throws the error of the work on translations
 */
export async function finishRollbacks(
  records: Pick<RollbackRecords, 'unfinished' | 'finish'>,
  texts: Pick<RollbackTexts, 'hold'>,
): Promise<void> {
  for (const rollback of records.unfinished()) {
    records.finish(rollback.task_id, await holdUnits(texts, rollback));
  }
}
