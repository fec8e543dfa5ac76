import { recordEffect, type EffectRecords } from './rollback-effect.ts';
import type { Rollback, RollbackRecords } from './rollback-records.ts';

/** The texts that a rollback changes, as results of tasks show them. */
interface ChangedTexts {
  /** How many units have another text. */
  readonly units: number;
  /** The first of them. */
  readonly changes: readonly object[];
  /** The first files with changed units. */
  readonly files: readonly object[];
}

/** The work on translations as rollbacks use it. */
export interface RollbackTexts {
  /** Puts the units on hold whose text the rollback takes back. @returns how many */
  hold(taken: {
    readonly from: string;
    readonly to: string | null;
    readonly reviewer: string | null;
    readonly reason: string | null;
  }): Promise<number>;
  /** How many units {@link hold} would put on hold now. */
  countHolds(
    taken: { readonly from: string; readonly to: string | null },
    signal: AbortSignal,
  ): Promise<number>;
  /** The texts that change for readers when one localized release takes the place of another; `null` when the texts of one are not recorded. */
  compare(
    releases: { readonly from: string; readonly to: string | null },
    signal: AbortSignal,
  ): Promise<ChangedTexts | null>;
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

export interface UnfinishedRollbacks extends EffectRecords {
  readonly rollbacks: EffectRecords['rollbacks'] & Pick<RollbackRecords, 'unfinished' | 'finish'>;
  readonly texts: Pick<RollbackTexts, 'hold'>;
}

/**
 * Ends rollbacks that could not, so that the next publish does not bring their texts back: records their effect, and puts their
 * units on hold.
 *
 * @param isOpen whether a rollback is to be ended now; default: every one
 * @throws the error of the work on translations
 */
export async function finishRollbacks(
  deps: UnfinishedRollbacks,
  isOpen: (rollback: Rollback) => boolean = () => true,
): Promise<void> {
  recordEffect(deps);
  const { rollbacks, texts } = deps;
  for (const rollback of rollbacks.unfinished().filter(isOpen)) {
    rollbacks.finish(rollback.task_id, await holdUnits(texts, rollback));
  }
}
