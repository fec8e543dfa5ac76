import type { StateBefore } from './carry-over.ts';
import { isUsable, type UnitState, type UsableState } from './unit-state.ts';

/**
 * Decides what a new judgement changes. A target that is blocked now remembers its state, and gets it back when nothing blocks it
 * now. One that was blocked from the beginning becomes a draft: nobody has called it translated.
 *
 * @param isBlocked whether a finding that nobody has accepted blocks the target
 * @returns `null` when the state stays
 */
export function requalify(
  { state, stateBefore }: { state: UnitState; stateBefore: StateBefore | null },
  isBlocked: boolean,
): { readonly state: UsableState | 'blocked'; readonly stateBefore: UsableState | null } | null {
  if (isUsable(state)) return isBlocked ? { state: 'blocked', stateBefore: state } : null;
  if (state !== 'blocked' || isBlocked) return null;
  return { state: freedState(stateBefore, 'draft'), stateBefore: null };
}

/** The state of a target that was blocked. @param otherwise for one that was blocked from the beginning */
export function freedState(stateBefore: StateBefore | null, otherwise: UsableState): UsableState {
  return stateBefore !== null && isUsable(stateBefore) ? stateBefore : otherwise;
}
