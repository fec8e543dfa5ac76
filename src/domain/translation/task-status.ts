import { UNIT_STATES, type UnitCounts } from './unit-state.ts';

/** A status that someone set, and that the states of the units do not change. */
export const FIXED_STATUSES = ['published', 'failed', 'skipped', 'superseded'] as const;

type FixedStatus = (typeof FIXED_STATUSES)[number];

/** A status that someone asked for, as far as the units allow it. */
export const OPEN_STATUSES = ['pending', 'in_progress'] as const;

/** The statuses that are stored. The others follow from the units. */
export type StoredStatus = FixedStatus | (typeof OPEN_STATUSES)[number];

export type TranslationTaskStatus = StoredStatus | 'blocked' | 'translated' | 'proofread';

function isFixed(status: string | null): status is FixedStatus {
  return FIXED_STATUSES.some((each) => each === status);
}

/**
 * Whether a task takes neither results nor reviews. People can continue a failed task, and correct the text of a published one for
 * the next localized release.
 */
export function isClosed(status: string | null): boolean {
  return status === 'skipped' || status === 'superseded';
}

/**
 * The status of a task. A fixed status wins, then a blocked unit, then a worker, then the open status that someone asked for.
 * Otherwise the units decide. A task of which workers have given up all that is left is failed while no unit has a target.
 */
export function taskStatus({
  stored,
  units,
  isLeased,
  isGivenUp,
}: {
  /** The status that was set last; `null` when the units alone decide. */
  readonly stored: StoredStatus | null;
  readonly units: UnitCounts;
  readonly isLeased: boolean;
  /** Whether the attempts of workers are used up, and no part of the task can be retried. */
  readonly isGivenUp: boolean;
}): TranslationTaskStatus {
  if (isFixed(stored)) return stored;
  if (units.blocked > 0) return 'blocked';
  if (isLeased) return 'in_progress';
  if (stored !== null) return stored;
  const total = UNIT_STATES.reduce((sum, state) => sum + units[state], 0);
  const usable = units.draft + units.translated + units.proofread;
  if (usable === 0) return isGivenUp ? 'failed' : 'pending';
  if (units.proofread === total) return 'proofread';
  return usable === total ? 'translated' : 'in_progress';
}

/** The statuses that a caller may set, by the status of the task. */
const SETTABLE: Readonly<Record<TranslationTaskStatus, readonly string[]>> = {
  pending: ['pending', 'in_progress', 'translated', 'failed', 'skipped'],
  in_progress: ['pending', 'in_progress', 'translated', 'failed', 'skipped'],
  blocked: ['pending', 'in_progress', 'translated', 'failed', 'skipped'],
  translated: ['pending', 'in_progress', 'translated', 'failed', 'skipped'],
  proofread: ['pending', 'in_progress', 'translated'],
  published: ['pending', 'in_progress', 'translated'],
  failed: ['pending', 'in_progress', 'translated', 'failed', 'skipped'],
  skipped: ['pending', 'skipped'],
  superseded: [],
};

/** The statuses that a program may set after `failed`: someone opens the task again before a program continues it. */
const SETTABLE_BY_PROGRAMS: readonly string[] = ['pending', 'failed', 'skipped'];

/** The statuses that a caller may set next. Results can be stored whenever the task may become `in_progress`. */
export function nextStatuses(from: TranslationTaskStatus, isProgram: boolean): readonly string[] {
  return from === 'failed' && isProgram ? SETTABLE_BY_PROGRAMS : SETTABLE[from];
}
