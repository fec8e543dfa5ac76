import { lowerState, type UnitState, type UsableState } from './unit-state.ts';

export type StateBefore = UsableState | 'blocked';

/** How a unit follows one of the release before; `new` follows none. */
export type CarriedTier = 'same' | 'moved' | 'unique' | 'changed' | 'new';

/** A stored target, as far as carrying it over depends on it. */
export interface CarriedTarget {
  readonly state: UnitState;
  /** Whether the target was made for exactly the text that the unit has now. */
  readonly fitsSource: boolean;
  /** The state that it had before its source changed or a finding blocked it; `null` without one. */
  readonly stateBefore: StateBefore | null;
}

/** The new state of a target. Its text and the source that it was made for stay as they are. */
interface CarriedState {
  readonly state: UnitState;
  readonly stateBefore: StateBefore | null;
}

/**
 * Carries a target over to the unit that follows it in the next release.
 *
 * A target is kept only for exactly the text that it was made for; for another text it is `stale`, whatever the tier says.
 * `same` and `moved` keep the state of the review. `unique`, and a text that came back, keep at most `translated`.
 */
export function carryTarget(tier: CarriedTier, target: CarriedTarget): CarriedState {
  if (target.state === 'untranslated') return { state: 'untranslated', stateBefore: null };
  if (!target.fitsSource) {
    return { state: 'stale', stateBefore: target.state === 'stale' ? target.stateBefore : target.state };
  }
  const cameBack = target.state === 'stale';
  const state = target.state === 'stale' ? (target.stateBefore ?? 'draft') : target.state;
  const keepsReview = !cameBack && (tier === 'same' || tier === 'moved');
  if (state === 'blocked') return { state, stateBefore: blockedBefore(target, keepsReview) };
  return { state: keepsReview ? state : lowerState(state, 'translated'), stateBefore: null };
}

/** The state that a target gets back when nothing blocks it now. */
function blockedBefore({ state, stateBefore }: CarriedTarget, keepsReview: boolean): StateBefore | null {
  if (state === 'stale' || stateBefore === null || stateBefore === 'blocked') return null;
  return keepsReview ? stateBefore : lowerState(stateBefore, 'translated');
}
