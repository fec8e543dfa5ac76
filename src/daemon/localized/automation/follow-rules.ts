import type { AUTOMATION_STATES } from '../../../contract/reports/report-translation.ts';
import {
  countedUnits,
  coverageOf,
  noOutcomes,
  publishOutcome,
} from '../../../domain/translation/publish-outcome.ts';
import { UNIT_STATES, type UnitCounts } from '../../../domain/translation/unit-state.ts';
import type { PublishPolicy } from '../freeze/frozen-release.ts';

/** The facts that decide whether a localized release is to be published by itself. */
export interface FollowFacts {
  /** `localized.auto`. */
  readonly isOn: boolean;
  /** The current official release, or `null`. */
  readonly officialId: string | null;
  /** The base of the current localized release; `null` without one. */
  readonly localizedBaseId: string | null;
  /** The rollback after which automatic publishing is stopped, or `null`. */
  readonly stoppedBy: {
    readonly from_release_id: string;
    readonly at: number;
    /** When it took effect; `null` while it has not. */
    readonly switched_at: number | null;
  } | null;
  /** The release and the generation of the index that the translation tasks were built for; `null` before that. */
  readonly built: { readonly releaseId: string; readonly generation: number } | null;
  /** The parse index; `null` before it was read. */
  readonly index: { readonly release_id: string | null; readonly generation: number } | null;
  /** Units by state, without those of skipped tasks. */
  readonly units: UnitCounts;
  readonly policy: PublishPolicy;
}

/** Whether a localized release follows the official one. `due`: it is to be published now. */
export interface FollowState {
  readonly state: (typeof AUTOMATION_STATES)[number];
  readonly message: string;
  /** Since when it is stopped, Unix seconds; `null` in other states. */
  readonly since: number | null;
}

/** How to resume automatic publishing after a rollback. */
const RESUME = 'publish with args ["resume=true"] to resume it';

/** Decides. */
export function followState(facts: FollowFacts): FollowState {
  const { isOn, officialId, localizedBaseId, stoppedBy } = facts;
  if (!isOn) return stateOf('off', 'localized.auto is off');
  if (stoppedBy !== null) {
    const { from_release_id: id, switched_at: switchedAt } = stoppedBy;
    const why =
      switchedAt === null
        ? `since a rollback of localized release ${id} was begun, which has not taken effect; roll back again, or`
        : `since localized release ${id} was rolled back;`;
    const message = `automatic publishing is stopped ${why} ${RESUME}`;
    return { state: 'stopped', message, since: stoppedBy.at };
  }
  if (officialId === null) return stateOf('waiting', 'there is no official release');
  if (localizedBaseId === officialId)
    return stateOf('followed', `the localized release is built on ${officialId}`);
  const missing = missingTexts(facts, officialId) ?? missingCoverage(facts);
  if (missing !== null) return stateOf('waiting', missing);
  return stateOf('due', `a localized release of ${officialId} can be published`);
}

function stateOf(state: FollowState['state'], message: string): FollowState {
  return { state, message, since: null };
}

/** The tasks must be those of the release, with the targets that were carried over. */
function missingTexts({ built, index }: FollowFacts, officialId: string): string | null {
  if (index?.release_id !== officialId) return `the text of ${officialId} is not indexed yet`;
  if (built?.releaseId === officialId && built.generation === index.generation) return null;
  return `the translation tasks of ${officialId} are not built yet`;
}

/**
 * Whether the release cannot reach the least coverage. The counts know neither globs nor holds, so with globs only a publish can
 * tell.
 */
function missingCoverage({ units, policy }: FollowFacts): string | null {
  if (policy.include.length + policy.exclude.length > 0) return null;
  const counts = noOutcomes();
  for (const state of UNIT_STATES) {
    counts[publishOutcome({ state, isHeld: false, isSkipped: false }, policy.minState)] += units[state];
  }
  if (counts.published === 0) return `no unit is ${policy.minState} yet`;
  if (coverageOf(counts) >= policy.minCoverage) return null;
  const least = Math.ceil(policy.minCoverage * countedUnits(counts));
  return `${counts.published} units are ${policy.minState}, and localized.minCoverage demands ${least}`;
}
