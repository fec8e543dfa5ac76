import type { UnitState } from '../unit-record.ts';

/** Begins the comment with the values that PO has no place for. */
export const OWN_COMMENT = 'x-slipway';

/** Whether a person has accepted a target. The message of another one is fuzzy. */
export function isReviewed(state: UnitState): boolean {
  return state === 'proofread' || state === 'published';
}
