import type { Channel } from '../release/channel.ts';
import {
  absenceOf,
  causedBy,
  failingPolls,
  firstCondition,
  ISSUING,
  UNWRITABLE,
  type Finding,
} from './causes.ts';
import { DAEMON_CONDITIONS_MAX } from './daemon-conditions.ts';
import { conditionOf } from './lasting-conditions.ts';
import { REMEDIES } from './service-reasons.ts';
import type { JudgedVerdict, ServiceFacts } from './service-state.ts';

/** The state of a server without an attestation that it can use. */
export function startingFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding {
  const cause = absenceOf(facts) ?? firstCondition(facts, ISSUING, channel);
  if (cause !== null) return causedBy(finding, cause);
  if (firstCondition(facts, FIRST_SYNC, 'official') !== null)
    return unpublishedFinding(facts, 'official', finding);
  if (facts.refresh.failures === 0) return finding;
  return causedBy(finding, firstCondition(facts, ['clock_off'], channel) ?? failingPolls(facts));
}

/** Whether the server misses the volume of a daemon that has no release yet: it can make the volume a moment later. */
export function isBeforeFirstRelease(facts: ServiceFacts, { release_id: releaseId }: JudgedVerdict): boolean {
  if (releaseId !== null) return false;
  return firstCondition(facts, ['starting', 'no_upstream', 'never_synced'], 'official') !== null;
}

/** Conditions of a daemon without a release, the one that decides first. */
const FIRST_SYNC = [...UNWRITABLE, 'syncing', 'no_upstream', 'sync_failed', 'never_synced'] as const;

/** The state of a channel for which the attestation authorizes no release. */
export function unpublishedFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding {
  // A statement can withdraw a release without a cause.
  if (facts.verdicts[channel].release_id !== null) return { ...finding, state: 'damaged' };
  if (channel === 'localized') return unpublishedLocalized(facts, finding);
  const cause = absenceOf(facts) ?? firstCondition(facts, [...ISSUING, ...FIRST_SYNC], channel);
  if (cause === null) return { ...finding, next: REMEDIES.NeverSynced };
  const state = cause.reason === 'Syncing' ? 'starting' : 'unpublished';
  return { state, ...cause, since: cause.since ?? finding.since };
}

/** The daemon may have a current release and leave it out of the attestation. */
function unpublishedLocalized(facts: ServiceFacts, finding: Finding): Finding {
  const channel = 'localized';
  const known = staleFinding(facts, channel, finding);
  if (known !== null) return known;
  const leftOut = firstCondition(facts, ['localized_stale', 'localized_unverified'], channel);
  if (leftOut !== null) {
    const state = leftOut.reason === 'BaseReleaseChanged' ? 'stale' : 'starting';
    return { state, ...leftOut, since: leftOut.since ?? finding.since };
  }
  const mirrored = conditionOf(facts, 'localized_mirrored', channel);
  const message = mirrored?.message ?? 'no localized release is published';
  return { ...finding, reason: 'NothingPublished', message };
}

/**
 * The state of a channel, as the daemon knows it, without a release of the current official one. The changed base is then not the cause: a
 * person has withdrawn the channel, the next release is on its way, or a rollback keeps it away.
 *
 * @returns `null` when it reports none of these
 */
export function staleFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding | null {
  const withdrawn = firstCondition(facts, ['localized_withdrawn'], channel);
  if (withdrawn !== null) {
    return { state: 'withdrawn', ...withdrawn, since: withdrawn.since ?? finding.since };
  }
  const following = firstCondition(facts, ['localized_following'], channel);
  if (following !== null) {
    return { state: 'starting', ...following, since: following.since ?? finding.since };
  }
  return stoppedFinding(facts, channel, finding);
}

/**
 * A daemon that answers and does not report a stale release has replaced it: its attestation of the next one is on its way here, or
 * this server still reads that release.
 *
 * @returns `null` when it reports one, when its conditions are not known or not all of them were sent, or when no attestation comes
 */
export function switchingFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding | null {
  const { conditions, daemon, refresh } = facts;
  const isKnown = conditions !== null && conditions.length < DAEMON_CONDITIONS_MAX && daemon.failure === null;
  const isAttested = refresh.failures === 0 && firstCondition(facts, ISSUING, channel) === null;
  if (!isKnown || !isAttested || conditionOf(facts, 'localized_stale', channel) !== null) return null;
  const message =
    'the daemon has replaced the stale localized release, and this server does not serve the next one yet';
  return { ...finding, state: 'starting', reason: 'LocalizedFollowing', message };
}

/** @returns `null` when the daemon reports no rollback, or has a current release of the current official one */
function stoppedFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding | null {
  const stopped = firstCondition(facts, ['publishing_stopped'], channel);
  if (stopped === null) return null;
  const stale = firstCondition(facts, ['localized_stale'], channel);
  if (stale !== null) return causedBy({ ...finding, state: 'stale', message: stale.message }, stopped);
  // A release that an attestation retains is no longer published.
  if (finding.reason !== 'BaseReleaseChanged' && conditionOf(facts, 'localized_unverified', channel) !== null)
    return null;
  return { state: 'unpublished', ...stopped, since: stopped.since ?? finding.since };
}
