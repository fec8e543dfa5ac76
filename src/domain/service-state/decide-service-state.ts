import type { Channel } from '../release/channel.ts';
import { isCalm } from './calm-reasons.ts';
import {
  absenceOf,
  ATTESTING,
  causedBy,
  failingPolls,
  firstCondition,
  UNWRITABLE,
  type Finding,
} from './causes.ts';
import { servedUntilText } from './daemon-absence.ts';
import { damagedFinding } from './damaged-finding.ts';
import { isMirrored } from './lasting-conditions.ts';
import { REMEDIES, type NextStep } from './service-reasons.ts';
import type {
  Consequence,
  JudgedVerdict,
  ServiceAnswer,
  ServiceFacts,
  ServiceState,
} from './service-state.ts';
import {
  isBeforeFirstRelease,
  staleFinding,
  startingFinding,
  switchingFinding,
  unpublishedFinding,
} from './unserved-finding.ts';
import { STATE_OF } from './verdict-state.ts';

/** The things that only the daemon knows or does. */
const TOLD_BY_DAEMON = ['syncs', 'repairs', 'schedules', 'localized publishing'] as const;

/**
 * Decides the state of the service. Pure: the same facts give the same answer, and no surface decides on its own.
 *
 * The state of the service is that of the official channel. While that is healthy, a localized channel that needs attention
 * degrades it. One that a person has withdrawn needs none, and neither does one whose release is on its way.
 */
export function decideServiceState(facts: ServiceFacts): ServiceAnswer {
  const official = stateOf(facts, 'official');
  const dependent = dependsOnOfficial(facts);
  const localized = dependent ? official : stateOf(facts, 'localized');
  const channels = { official, localized };
  if (
    official.state === 'healthy' &&
    localized.state !== 'healthy' &&
    !isCalm('localized', localized.reason)
  ) {
    return { ...localized, state: 'degraded', channels };
  }
  if (!dependent) return { ...official, channels };
  const refused = { what: 'localized channel', since: official.since };
  return { ...official, caused: [...official.caused, refused], channels };
}

/** Whether the localized channel is refused only because the official one is. */
function dependsOnOfficial({ verdicts: { official, localized } }: ServiceFacts): boolean {
  if (official.distributable || localized.distributable) return false;
  return (
    localized.reason === 'BaseReleaseChanged' ||
    localized.checks.some(({ name, ok }) => name === 'base-release-current' && ok === false) ||
    (localized.reason === official.reason && localized.reason?.startsWith('Attestation') === true)
  );
}

function stateOf(facts: ServiceFacts, channel: Channel): ServiceState {
  const verdict = facts.verdicts[channel];
  const { next, ...finding } = findingOf(facts, channel);
  return {
    ...finding,
    next_step:
      finding.reason === null ? null : possibleStep(facts, channel, next ?? REMEDIES[finding.reason]),
    caused: consequencesOf(facts, verdict),
  };
}

/** A daemon that copies a channel refuses to publish to it, and one that does not answer publishes nothing. */
function possibleStep(facts: ServiceFacts, channel: Channel, step: NextStep): NextStep {
  if (step.action !== 'localized-publish') return step;
  return isMirrored(facts, channel) ? LOOK_AT_ORIGIN : (absenceOf(facts)?.next ?? step);
}

const LOOK_AT_ORIGIN: NextStep = {
  text: 'Look at the state of the localized channel of the origin. The next release that the origin publishes is copied without a request.',
  action: null,
};

function findingOf(facts: ServiceFacts, channel: Channel): Finding {
  const verdict = facts.verdicts[channel];
  const since = Math.floor(verdict.since / 1000);
  if (facts.isStopping) {
    return { state: 'stopping', reason: 'ShuttingDown', message: 'the server is shutting down', since };
  }
  if (verdict.distributable) return servedFinding(facts, channel, since);
  const { reason } = verdict;
  const state = reason === null ? 'untrusted' : STATE_OF[reason];
  const finding: Finding = { state, reason, message: verdict.message, since };
  switch (state) {
    case 'damaged':
      return isBeforeFirstRelease(facts, verdict)
        ? startingFinding(facts, channel, { ...finding, state: 'starting' })
        : damagedFinding(facts, channel, finding);
    case 'expired':
      // A daemon that waits for a volume at its start issues nothing.
      return causedBy(
        finding,
        absenceOf(facts) ?? firstCondition(facts, [...ATTESTING, ...UNWRITABLE], channel),
      );
    case 'starting':
      return reason === 'SnapshotLoading' ? finding : startingFinding(facts, channel, finding);
    case 'unpublished':
      return unpublishedFinding(facts, channel, finding);
    case 'stale':
      return staleFinding(facts, channel, finding) ?? switchingFinding(facts, channel, finding) ?? finding;
    default:
      return reason === 'AttestationNotYetValid'
        ? causedBy(finding, firstCondition(facts, ['clock_off'], channel))
        : finding;
  }
}

/** Conditions that need attention while a channel is served, the most urgent first. */
const ATTENTION = {
  official: [...ATTESTING, ...UNWRITABLE, 'work_database_unusable', 'sync_failed'],
  localized: [...ATTESTING, ...UNWRITABLE, 'work_database_unusable', 'publishing_stopped'],
} as const satisfies Record<Channel, readonly string[]>;

function servedFinding(facts: ServiceFacts, channel: Channel, since: number): Finding {
  const { refresh, expiresAt } = facts;
  const cause =
    absenceOf(facts) ??
    firstCondition(facts, ATTENTION[channel], channel) ??
    (refresh.failures > 0 ? failingPolls(facts) : null);
  if (cause === null)
    return { state: 'healthy', reason: null, message: facts.verdicts[channel].message, since };
  const ends = facts.daemon.failure !== null || cause.reason === 'RefreshFailing';
  return {
    state: 'degraded',
    ...cause,
    message: ends ? `${cause.message}; ${servedUntilText(expiresAt)}` : cause.message,
    since: cause.since ?? since,
  };
}

function consequencesOf({ daemon }: ServiceFacts, verdict: JudgedVerdict): readonly Consequence[] {
  const unknown =
    daemon.failure === null ? [] : TOLD_BY_DAEMON.map((what) => ({ what, since: daemon.since }));
  const open = verdict.distributable ? [] : verdict.checks.filter(({ ok }) => ok === null);
  return [...unknown, ...open.map(({ name }) => ({ what: `check ${name}`, since: null }))];
}

/** Whether two states say the same, whatever their wording and times. `null` is no state. */
export function isSameState(left: ServiceState | null, right: ServiceState): boolean {
  return left !== null && left.state === right.state && left.reason === right.reason;
}
