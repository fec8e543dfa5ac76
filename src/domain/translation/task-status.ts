import { UNIT_STATES, type UnitCounts } from './unit-state.ts';

/** A status that someone set, and that the states of the units do not change. */
export const FIXED_STATUSES = ['published', 'failed', 'skipped', 'superseded'] as const;

/** One of {@link FIXED_STATUSES}. */
export type FixedStatus = (typeof FIXED_STATUSES)[number];

/** A status that someone asked for, as far as the units allow it. */
export const OPEN_STATUSES = ['pending', 'in_progress'] as const;

/** The statuses that are stored. The others follow from the units. */
export type StoredStatus = FixedStatus | (typeof OPEN_STATUSES)[number];

/** The status of a task. */
export type TranslationTaskStatus = StoredStatus | 'blocked' | 'translated' | 'proofread';

/** The facts from which the status of a task follows. */
export interface TaskFacts {
  /** The status that was set last; `null` when the units alone decide. */
  readonly stored: StoredStatus | null;
  readonly units: UnitCounts;
  /** Whether a worker holds a live lease on a part of the task. */
  readonly isLeased: boolean;
}

/** Whether a status stays until someone sets another one. */
export function isFixed(status: string | null): status is FixedStatus {
  return FIXED_STATUSES.some((each) => each === status);
}

/**
 * The status of a task. A fixed status wins, then a blocked unit, then a worker, then the open status that someone asked for.
 * Otherwise the units decide.
 */
export function taskStatus({ stored, units, isLeased }: TaskFacts): TranslationTaskStatus {
  if (isFixed(stored)) return stored;
  if (units.blocked > 0) return 'blocked';
  if (isLeased) return 'in_progress';
  if (stored !== null) return stored;
  const total = UNIT_STATES.reduce((sum, state) => sum + units[state], 0);
  const usable = units.draft + units.translated + units.proofread;
  if (usable === 0) return 'pending';
  if (units.proofread === total) return 'proofread';
  return usable === total ? 'translated' : 'in_progress';
}

/** Whether a task takes no targets. A published one does: its text can be corrected for the next localized release. */
export function isClosed(status: string | null): boolean {
  return isFixed(status) && status !== 'published';
}

/** The statuses that a caller may set, by the status of the task. */
const SETTABLE: Readonly<Record<TranslationTaskStatus, readonly string[]>> = {
  pending: ['pending', 'in_progress', 'translated', 'failed', 'skipped'],
  in_progress: ['pending', 'in_progress', 'translated', 'failed', 'skipped'],
  blocked: ['pending', 'in_progress', 'translated', 'failed', 'skipped'],
  translated: ['pending', 'in_progress', 'translated', 'failed', 'skipped'],
  proofread: ['pending', 'in_progress', 'translated'],
  published: ['pending', 'in_progress', 'translated'],
  failed: ['pending', 'failed'],
  skipped: ['pending', 'skipped'],
  superseded: [],
};

/** Whether a caller may set the status of a task. Results can be stored whenever the task may become `in_progress`. */
export function canSetStatus(from: TranslationTaskStatus, to: string): boolean {
  return SETTABLE[from].includes(to);
}

/** The statuses that a caller may set next. */
export function nextStatuses(from: TranslationTaskStatus): readonly string[] {
  return SETTABLE[from];
}
