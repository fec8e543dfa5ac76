/** Foresees how the daemon answers when a task is handed in; pure. */

import type { TranslationTask } from './translation-task.ts';

/** Units for which the daemon refuses a task, by their state. */
export interface MissingUnits {
  /** A state, as the filter of the list names it. */
  readonly state: 'untranslated' | 'stale' | 'blocked';
  readonly units: number;
  /** Reads on after "3 units". */
  readonly why: string;
}

/** The outcome of handing in a task now. */
export interface HandInPlan {
  /** Drafts that become translated. */
  readonly drafts: number;
  /** Empty when the daemon takes the task. */
  readonly missing: readonly MissingUnits[];
}

const REASONS = [
  ['untranslated', 'without a target.'],
  ['stale', 'whose source has changed since the target was written.'],
  ['blocked', 'blocked by findings.'],
] as const satisfies ReadonlyArray<readonly [MissingUnits['state'], string]>;

/** Says what handing in a task does. @param counts units of the task by state */
export function handInOf(counts: TranslationTask['unit_counts']): HandInPlan {
  return {
    drafts: counts['draft'] ?? 0,
    missing: REASONS.flatMap(([state, why]) => {
      const units = counts[state] ?? 0;
      return units === 0 ? [] : [{ state, units, why }];
    }),
  };
}

/** Whether a task has anything to hand in, now or later. */
export function isHandInOffered({ status, unit_counts: counts }: TranslationTask): boolean {
  const { drafts, missing } = handInOf(counts);
  return status !== 'superseded' && status !== 'skipped' && (drafts > 0 || missing.length > 0);
}
