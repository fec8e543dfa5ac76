import { isBelow, isUsable, type UnitState, type UsableState } from './unit-state.ts';

/** States of translations that a localized release can have, the strictest demand first. */
export const PUBLISHABLE_STATES = [
  'proofread',
  'translated',
  'draft',
] as const satisfies readonly UsableState[];

/** Outcomes of a unit in a localized release: published, or the reason why its text stays official. */
const PUBLISH_OUTCOMES = [
  'published',
  'blocked',
  'held',
  'skipped',
  'stale',
  'untranslated',
  'below_min_state',
] as const;

export type PublishOutcome = (typeof PUBLISH_OUTCOMES)[number];

export type PublishCounts = Readonly<Record<PublishOutcome, number>>;

/**
 * Decides about a unit. A unit that people have taken out blocks nothing, and neither does one that would not be published without
 * its findings, such as a text that someone is still writing.
 */
export function publishOutcome(
  {
    state,
    freeState,
    isHeld,
    isSkipped,
  }: {
    readonly state: UnitState;
    /** The state of a blocked unit without its findings; one that is not known blocks. */
    readonly freeState?: UsableState;
    readonly isHeld: boolean;
    readonly isSkipped: boolean;
  },
  minState: UsableState,
): PublishOutcome {
  if (isSkipped) return 'skipped';
  if (isHeld) return 'held';
  if (state === 'blocked')
    return freeState !== undefined && isBelow(freeState, minState) ? 'below_min_state' : 'blocked';
  if (!isUsable(state)) return state;
  return isBelow(state, minState) ? 'below_min_state' : 'published';
}

/** Counts without any unit. */
export function noOutcomes(): Record<PublishOutcome, number> {
  return { published: 0, blocked: 0, held: 0, skipped: 0, stale: 0, untranslated: 0, below_min_state: 0 };
}

/** The units that coverage is measured by: all but those of skipped tasks. */
export function countedUnits(counts: PublishCounts): number {
  return PUBLISH_OUTCOMES.reduce((sum, each) => sum + (each === 'skipped' ? 0 : counts[each]), 0);
}

/** The part of the units that is localized, from 0 to 1; 1 when there is nothing to localize. */
export function coverageOf(counts: PublishCounts): number {
  return shareOf(counts.published, countedUnits(counts));
}

/**
 * The share of the counted units that is ready: the one formula of a coverage.
 *
 * @param whole the share of all units, which is also that of no units: 1, or 100 for percent
 */
export function shareOf(ready: number, counted: number, whole = 1): number {
  return counted === 0 ? whole : (whole * ready) / counted;
}

/** Which translations a localized release has, and how many it must have. */
export interface CoverageDemand {
  /** The lowest state of a translation that it has. */
  readonly minState: UsableState;
  /** Least coverage, from 0 to 1. */
  readonly minCoverage: number;
}

/**
 * Why a publication has too few texts: one sentence for the reports, the trial, the publication and the automation.
 *
 * @returns `null` when it has enough
 */
export function incompleteCoverage(
  counts: PublishCounts,
  { minState, minCoverage }: CoverageDemand,
): string | null {
  if (counts.published === 0) return `no unit can be published: ${describe(counts, minState)}`;
  const coverage = coverageOf(counts);
  return coverage >= minCoverage
    ? null
    : `${percent(coverage)} of the units can be published, and localized.minCoverage demands ${percent(minCoverage)}: ${describe(counts, minState)}`;
}

function describe(counts: PublishCounts, minState: UsableState): string {
  const all = [
    `${counts.untranslated} untranslated`,
    `${counts.stale} with a changed source`,
    `${counts.below_min_state} not ${minState} yet`,
    `${counts.held} on hold`,
    `${counts.blocked} blocked`,
  ];
  return all.filter((each) => !each.startsWith('0 ')).join(', ') || 'there are no units';
}

function percent(part: number): string {
  return `${Math.floor(part * 1000) / 10} %`;
}
