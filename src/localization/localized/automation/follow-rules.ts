import type { AUTOMATION_STATES } from '../../../contract/reports/report-translation.ts';
import { expectedOutcomes, type ReleaseUnits } from '../../../domain/translation/expected-outcomes.ts';
import { incompleteCoverage } from '../../../domain/translation/publish-outcome.ts';
import type { PublishPolicy } from '../freeze/frozen-release.ts';
import type { RollbackProgress } from '../rollback/rollback-effect.ts';
import type { Rollback } from '../rollback/rollback-records.ts';
import { z } from 'zod';
import type { JobDefinition } from '../../../engine/tasks/job.ts';

export const LOCALIZED_FOLLOW_JOB = {
  kind: 'localized-follow',
  summary:
    'Publishes a localized release after a new official one, when `localized.auto` is on, enough is translated, and nothing is lost.',
  lane: 'release',
  scope: 'publish',
  groups: ['i18n'],
  arguments: z.strictObject({}),
  resumable: true,
  maxAttempts: 3,
  storeLock: 'shared',
} as const satisfies JobDefinition;

/** The releases that the index and the tasks are built for, and the states of the units. */
export interface FollowedTexts {
  readonly built: { readonly releaseId: string; readonly generation: number } | null;
  readonly index: { readonly release_id: string | null; readonly generation: number } | null;
  readonly units: ReleaseUnits;
}

export interface FollowFacts extends FollowedTexts {
  readonly isOn: boolean;
  readonly officialId: string | null;
  readonly isOfficialDamaged: boolean;
  readonly localizedBaseId: string | null;
  readonly stop: {
    readonly rollback: Rollback;
    readonly progress: RollbackProgress;
  } | null;
  readonly isWithdrawn: boolean;
  readonly policy: PublishPolicy;
}

export type Awaited = 'index' | 'tasks' | 'translations' | 'publication';

/** Whether a localized release follows the official one. `due`: it is to be published now. */
export interface FollowState {
  readonly state: (typeof AUTOMATION_STATES)[number];
  readonly message: string;
  /** Since when it is stopped, Unix seconds; `null` in other states. */
  readonly since: number | null;
  readonly awaits: Awaited | null;
}

export function followState(facts: FollowFacts): FollowState {
  const { isOn, officialId, localizedBaseId, stop, isWithdrawn } = facts;
  // A withdrawn channel stays empty until a publish resumes it, whatever `localized.auto` says.
  if (stop !== null && (isOn || isWithdrawn)) {
    return {
      state: 'stopped',
      message: stopMessage(stop, isWithdrawn),
      since: stop.rollback.at,
      awaits: null,
    };
  }
  if (!isOn) return stateOf('off', 'localized.auto is off');
  if (officialId === null) return stateOf('waiting', 'there is no official release');
  if (localizedBaseId === officialId)
    return stateOf('followed', `the localized release is built on ${officialId}`);
  if (facts.isOfficialDamaged) return stateOf('waiting', `the official release ${officialId} is damaged`);
  const [texts, coverage] = [missingTexts(facts, officialId), missingCoverage(facts)];
  if (texts !== null) {
    // Tasks of this release that are built again, such as after a change of the rules, do not bring translations.
    const isRebuilt = facts.built?.releaseId === officialId && coverage !== null;
    return stateOf('waiting', texts.message, isRebuilt ? 'translations' : texts.awaits);
  }
  if (coverage !== null) return stateOf('waiting', coverage, 'translations');
  return stateOf('due', `a localized release of ${officialId} can be published`, 'publication');
}

function stopMessage({ rollback, progress }: NonNullable<FollowFacts['stop']>, isWithdrawn: boolean): string {
  const { from_release_id: id } = rollback;
  const decision = decisionOf(rollback);
  if (isWithdrawn) {
    return `the channel is withdrawn since localized release ${id} was rolled back${decision}; fix the cause, then publish with args=resume=true`;
  }
  return `automatic publishing is stopped ${STOPS[progress](id, decision)}`;
}

const RESUME = 'publish with args=resume=true to resume it';

/** Completes "automatic publishing is stopped ..." by the rollback that stopped it. */
const STOPS: Readonly<Record<RollbackProgress, (id: string, decision: string) => string>> = {
  in_progress: (id) => `while localized release ${id} is rolled back`,
  in_effect: (id, decision) => `since localized release ${id} was rolled back${decision}; ${RESUME}`,
  without_effect: (id) =>
    `since a rollback of localized release ${id} was begun, which has not taken effect; roll back again, or ${RESUME}`,
  overtaken: (id) =>
    `since a rollback of localized release ${id} was begun, before which another release became current; ${RESUME}`,
};

function decisionOf({ reviewer, reason }: NonNullable<FollowFacts['stop']>['rollback']): string {
  const why = reason === null ? '' : ` (${reason.slice(0, REASON_MAX)})`;
  return `${reviewer === null ? '' : ` by ${reviewer}`}${why}`;
}

const REASON_MAX = 200;

function stateOf(
  state: FollowState['state'],
  message: string,
  awaits: FollowState['awaits'] = null,
): FollowState {
  return { state, message, since: null, awaits };
}

function missingTexts(
  { built, index }: FollowFacts,
  officialId: string,
): { readonly message: string; readonly awaits: Awaited } | null {
  if (index?.release_id !== officialId) {
    return { message: `the text of ${officialId} is not indexed yet`, awaits: 'index' };
  }
  if (built?.releaseId === officialId && built.generation === index.generation) return null;
  return { message: `the translation tasks of ${officialId} are not built yet`, awaits: 'tasks' };
}

function missingCoverage({ units, policy }: FollowFacts): string | null {
  return incompleteCoverage(expectedOutcomes(units, policy.minState), policy);
}
