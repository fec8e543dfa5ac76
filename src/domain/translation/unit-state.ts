/**
 * States of a text unit in one target language, in the order of review. `blocked` has a target with a blocking finding, and
 * the target of `stale` was made for another source text.
 */
export const UNIT_STATES = ['untranslated', 'draft', 'translated', 'proofread', 'blocked', 'stale'] as const;

export type UnitState = (typeof UNIT_STATES)[number];

export type UnitCounts = Readonly<Record<UnitState, number>>;

export type UsableState = 'draft' | 'translated' | 'proofread';

/** Whether the target of a unit can be used. */
export function isUsable(state: UnitState): state is UsableState {
  return state === 'draft' || state === 'translated' || state === 'proofread';
}

/** Whether a unit still needs a target. */
export function isOpen(state: UnitState): boolean {
  return state === 'untranslated' || state === 'stale';
}

/** Whether a state of review is lower than another one. */
export function isBelow(state: UsableState, other: UsableState): boolean {
  return UNIT_STATES.indexOf(state) < UNIT_STATES.indexOf(other);
}

/** The lower of two states of review. */
export function lowerState(left: UsableState, right: UsableState): UsableState {
  return isBelow(right, left) ? right : left;
}

/** Counts without any unit. */
export function noUnits(): Record<UnitState, number> {
  return { untranslated: 0, draft: 0, translated: 0, proofread: 0, blocked: 0, stale: 0 };
}
