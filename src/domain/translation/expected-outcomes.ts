import { noOutcomes, publishOutcome, type PublishCounts } from './publish-outcome.ts';
import { noUnits, UNIT_STATES, type UnitCounts, type UsableState } from './unit-state.ts';

/** The units of a release by what decides about them in a localized one, without those of files that it leaves out. */
export interface ReleaseUnits {
  readonly units: UnitCounts;
  /** Of skipped tasks, by state. */
  readonly skippedUnits: UnitCounts;
  /** Those of `units` that are on hold, by state. */
  readonly heldUnits: UnitCounts;
  /** The blocked ones of `units` that are not on hold, by the state that they have without their findings. */
  readonly blockedUnits: Readonly<Record<UsableState, number>>;
}

/** A release without units. */
export function noReleaseUnits(): ReleaseUnits {
  const blockedUnits = { draft: 0, translated: 0, proofread: 0 };
  return { units: noUnits(), skippedUnits: noUnits(), heldUnits: noUnits(), blockedUnits };
}

/**
 * Counts the units of a release by their outcomes in a publication, from the counts by state: {@link publishOutcome} decides as it does for each unit
 * when the release is frozen. A blocked unit whose state without findings is not known is blocked.
 *
 * @param minState the lowest state of a translation that a localized release has
 */
export function expectedOutcomes(
  { units, skippedUnits, heldUnits, blockedUnits }: ReleaseUnits,
  minState: UsableState,
): PublishCounts {
  const counts = noOutcomes();
  const free = { isHeld: false, isSkipped: false };
  for (const state of UNIT_STATES) {
    counts[publishOutcome({ state, isHeld: false, isSkipped: true }, minState)] += skippedUnits[state];
    counts[publishOutcome({ state, isHeld: true, isSkipped: false }, minState)] += heldUnits[state];
    counts[publishOutcome({ state, ...free }, minState)] += units[state] - heldUnits[state];
  }
  for (const freeState of ['draft', 'translated', 'proofread'] as const) {
    counts.blocked -= blockedUnits[freeState];
    counts[publishOutcome({ state: 'blocked', freeState, ...free }, minState)] += blockedUnits[freeState];
  }
  return counts;
}
