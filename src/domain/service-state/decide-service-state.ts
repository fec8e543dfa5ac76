import { CHANNELS, type Channel } from '../release/channel.ts';
import type { ServerDamageFinder } from '../verdict/damage-finder.ts';
import type { Reason } from '../verdict/reasons.ts';
import { isCalm } from './calm-reasons.ts';
import { daemonAbsence, servedUntilText } from './daemon-absence.ts';
import { instant } from '../instant.ts';
import { DAEMON_CONDITIONS_MAX } from './daemon-conditions.ts';
import { conditionOf, lastingConditions } from './lasting-conditions.ts';
import { REMEDIES, type NextStep, type ServiceReason } from './service-reasons.ts';
import type {
  Consequence,
  JudgedVerdict,
  ServiceAnswer,
  ServiceFacts,
  ServiceState,
  ServiceStateName,
} from './service-state.ts';

/** A state before its consequences are added. */
interface Finding {
  readonly state: ServiceStateName;
  readonly reason: ServiceReason | null;
  readonly message: string;
  /** Unix seconds. */
  readonly since: number;
  /** Default: the remedy of the reason. */
  readonly next?: NextStep | null;
}

/** A cause that is not in the verdict. */
interface Cause {
  readonly reason: ServiceReason;
  readonly message: string;
  readonly since: number | null;
  readonly next: NextStep;
}

/** The state of a verdict that fails with a reason, before other facts are considered. */
const STATE_OF: Readonly<Record<Reason, ServiceStateName>> = {
  AttestationUnavailable: 'starting',
  AttestationInvalid: 'untrusted',
  AttestationNotYetValid: 'untrusted',
  AttestationExpired: 'expired',
  AttestationRolledBack: 'untrusted',
  ReleaseNotAuthorized: 'unpublished',
  SnapshotMissing: 'damaged',
  ManifestDamaged: 'damaged',
  SnapshotLoading: 'starting',
  EntryMissing: 'damaged',
  EntryDamaged: 'damaged',
  BaseReleaseChanged: 'stale',
};

/** How each finder of damage is named. */
const FINDERS: Readonly<Record<ServerDamageFinder, string>> = {
  client: 'found when a client read it',
  scrub: 'found by the scrub',
  loading: 'found when the release was read',
};

/** The things that only the daemon knows or does. */
const TOLD_BY_DAEMON = ['syncs', 'repairs', 'schedules', 'localized publishing'] as const;

/**
 * Decides the state of the service. Pure: the same facts give the same answer, and no surface decides by itself.
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

/** A daemon that copies a channel refuses to publish to it. */
function possibleStep(facts: ServiceFacts, channel: Channel, step: NextStep): NextStep {
  return step.action === 'localized-publish' && isMirrored(facts, channel) ? LOOK_AT_ORIGIN : step;
}

function isMirrored(facts: ServiceFacts, channel: Channel): boolean {
  return conditionOf(facts, 'localized_mirrored', channel) !== null;
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

/** Conditions that stop the renewal of attestations, the first cause first. */
const ISSUING = ['starting', 'database_damaged', 'crash_loop', 'attestation_failing'] as const;

/** Conditions by which an attestation ends or is refused, the first cause first. */
const ATTESTING = ['starting', 'database_damaged', 'crash_loop', 'clock_off', 'attestation_failing'] as const;

/** Volumes that refuse writes. When both are one volume without space, a cleanup of releases frees it. */
const UNWRITABLE = ['volume_full', 'data_volume_full', 'volume_unwritable'] as const;

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

/** Damage is mended by the daemon, so the remedy depends on what the daemon does. */
function damagedFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding {
  const verdict = facts.verdicts[channel];
  const finder = verdict.found_by === undefined ? '' : ` (${FINDERS[verdict.found_by]})`;
  const message = `${verdict.message}${finder}`;
  const absence = absenceOf(facts);
  if (absence !== null) {
    return {
      ...finding,
      message: `${message}; nothing repairs it, because ${absence.message}`,
      next: { ...absence.next, text: `${absence.next.text} It repairs the release.` },
    };
  }
  const hindrance = firstCondition(
    facts,
    ['starting', 'database_damaged', 'crash_loop', ...UNWRITABLE],
    channel,
  );
  if (hindrance !== null) {
    return { ...finding, message: `${message}; ${hindrance.message}`, next: hindrance.next };
  }
  // Only an origin has patched files, so elsewhere a repair cannot bring them back. A publication needs a sound official release first.
  const isPublishedAgain =
    channel === 'localized' &&
    ENTRY_DAMAGE.has(finding.reason) &&
    !isMirrored(facts, channel) &&
    !isDamaged(facts.verdicts.official);
  const failed = conditionOf(facts, 'repair_failed', channel);
  if (failed !== null) {
    const next = isPublishedAgain ? PUBLISH_AGAIN : withNextTry(MEND_AND_REPAIR, failed.next_try);
    return { ...finding, message: `${message}; ${failed.message}`, next };
  }
  const repairing = conditionOf(facts, 'repairing', channel);
  if (repairing === null) {
    if (isPublishedAgain) return { ...finding, message, next: PUBLISH_AGAIN };
    // A daemon that tells its conditions, but no repair, waits for a request.
    const isIdle = facts.conditions !== null && AUTOMATIC.has(finding.reason);
    return { ...finding, message, ...(isIdle ? { next: RUN_REPAIR } : {}) };
  }
  const next = { text: 'Wait for the end of the repair.', action: null };
  return {
    ...finding,
    message: `${message}; ${repairing.message}`,
    next: withNextTry(next, repairing.next_try),
  };
}

function isDamaged({ reason }: JudgedVerdict): boolean {
  return reason !== null && STATE_OF[reason] === 'damaged';
}

/** Damage of files of the release. */
const ENTRY_DAMAGE: ReadonlySet<ServiceReason | null> = new Set(['EntryMissing', 'EntryDamaged']);
/** Damage whose remedy is to wait for the automatic repair. */
const AUTOMATIC: ReadonlySet<ServiceReason | null> = new Set([...ENTRY_DAMAGE, 'ManifestDamaged']);

const MEND_AND_REPAIR: NextStep = {
  text: 'Correct the cause that the check "verification" of the doctor names, then run repair.',
  action: 'repair',
};
const RUN_REPAIR: NextStep = { text: 'Run repair.', action: 'repair' };
const PUBLISH_AGAIN: NextStep = {
  text: 'Publish it again, which builds its patched files again. Run repair for files that are those of the official release.',
  action: 'localized-publish',
};

function startingFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding {
  const cause = absenceOf(facts) ?? firstCondition(facts, ISSUING, channel);
  if (cause !== null) return causedBy(finding, cause);
  if (firstCondition(facts, FIRST_SYNC, 'official') !== null)
    return unpublishedFinding(facts, 'official', finding);
  if (facts.refresh.failures === 0) return finding;
  return causedBy(finding, firstCondition(facts, ['clock_off'], channel) ?? failingPolls(facts));
}

/** Whether the server misses the volume of a daemon that has no release yet: it can make the volume a moment later. */
function isBeforeFirstRelease(facts: ServiceFacts, { release_id: releaseId }: JudgedVerdict): boolean {
  if (releaseId !== null) return false;
  return firstCondition(facts, ['starting', 'no_upstream', 'never_synced'], 'official') !== null;
}

/** Conditions of a daemon without a release, the one that decides first. */
const FIRST_SYNC = [...UNWRITABLE, 'syncing', 'no_upstream', 'sync_failed', 'never_synced'] as const;

function unpublishedFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding {
  const { release_id: releaseId } = facts.verdicts[channel];
  // The attestation names a release and withdraws it without a cause, as daemons of earlier versions do.
  if (releaseId !== null) return { ...finding, state: 'damaged' };
  if (channel === 'localized') {
    // The daemon has a current release and leaves it out of the attestation.
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
  const cause = absenceOf(facts) ?? firstCondition(facts, [...ISSUING, ...FIRST_SYNC], channel);
  if (cause === null) return { ...finding, next: REMEDIES.NeverSynced };
  const state = cause.reason === 'Syncing' ? 'starting' : 'unpublished';
  return { state, ...cause, since: cause.since ?? finding.since };
}

/**
 * The state of a channel, as the daemon knows it, without a release of the current official one. The changed base is then not the cause: a
 * person has withdrawn the channel, the next release is on its way, or a rollback keeps it away.
 *
 * @returns `null` when it tells none of these
 */
function staleFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding | null {
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
 * A daemon that answers and does not tell a stale release has replaced it: its attestation of the next one is on its way here, or
 * this server still reads that release.
 *
 * @returns `null` when it tells one, when its conditions are not known or not all of them were sent, or when no attestation comes
 */
function switchingFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding | null {
  const { conditions, daemon, refresh } = facts;
  const isKnown = conditions !== null && conditions.length < DAEMON_CONDITIONS_MAX && daemon.failure === null;
  const isAttested = refresh.failures === 0 && firstCondition(facts, ISSUING, channel) === null;
  if (!isKnown || !isAttested || conditionOf(facts, 'localized_stale', channel) !== null) return null;
  const message =
    'the daemon has replaced the stale localized release, and this server does not serve the next one yet';
  return { ...finding, state: 'starting', reason: 'LocalizedFollowing', message };
}

/** @returns `null` when the daemon tells no rollback, or has a current release of the current official one */
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

/** The state stays, which clients notice; the cause becomes the reason. */
function causedBy(finding: Finding, cause: Cause | null): Finding {
  if (cause === null) return finding;
  return {
    ...finding,
    reason: cause.reason,
    message: `${finding.message}; ${cause.message}`,
    next: cause.next,
  };
}

function absenceOf({ daemon: { failure, since } }: ServiceFacts): Cause | null {
  return failure === null ? null : { ...daemonAbsence(failure, since), since };
}

function failingPolls({ daemon, refresh: { failures, code, since } }: ServiceFacts): Cause {
  if (code === 'unreachable' && daemon.failure === null) {
    const message = 'the daemon answers again and has not been polled for an attestation yet';
    return { reason: 'DaemonStarting', message, since, next: REMEDIES.DaemonStarting };
  }
  const polls = failures === 1 ? 'the last poll of the daemon' : `the last ${failures} polls of the daemon`;
  const message = `${polls} brought no usable attestation${code === null ? '' : ` (${code})`}`;
  return { reason: 'RefreshFailing', message, since, next: REMEDIES[causeOfPolls(code)] };
}

/** The reason whose remedy mends failed polls: that of the refused attestation, or of a daemon that does not answer in time. */
function causeOfPolls(code: string | null): ServiceReason {
  if (code === 'timeout') return 'DaemonTimeout';
  return REASONS_OF_ATTESTATION.find((reason) => reason === code) ?? 'RefreshFailing';
}

/** The reasons for which a server refuses an attestation. */
const REASONS_OF_ATTESTATION = [
  'AttestationInvalid',
  'AttestationNotYetValid',
  'AttestationExpired',
  'AttestationRolledBack',
] as const satisfies readonly Reason[];

/** The first of these conditions that lasts, as a cause. */
function firstCondition(
  facts: ServiceFacts,
  codes: Parameters<typeof lastingConditions>[1],
  channel: Channel,
): Cause | null {
  const [first] = lastingConditions(facts, codes, channel);
  if (first === undefined) return null;
  const { reason, message, since, next_try: nextTry } = first;
  return { reason, message, since, next: withNextTry(REMEDIES[reason], nextTry) };
}

function withNextTry(next: NextStep, nextTry: number | null): NextStep {
  if (nextTry === null) return next;
  return { ...next, text: `${next.text} The daemon tries again at ${instant(nextTry)}.` };
}

function consequencesOf({ daemon }: ServiceFacts, verdict: JudgedVerdict): readonly Consequence[] {
  const unknown =
    daemon.failure === null ? [] : TOLD_BY_DAEMON.map((what) => ({ what, since: daemon.since }));
  const open = verdict.distributable ? [] : verdict.checks.filter(({ ok }) => ok === null);
  return [...unknown, ...open.map(({ name }) => ({ what: `check ${name}`, since: null }))];
}

/** Whether two answers say the same, whatever their wording and times. */
export function isSameState(left: ServiceAnswer | null, right: ServiceAnswer): boolean {
  const isSame = (one: ServiceState | undefined, other: ServiceState): boolean =>
    one?.state === other.state && one.reason === other.reason;
  return (
    left !== null &&
    isSame(left, right) &&
    CHANNELS.every((channel) => isSame(left.channels[channel], right.channels[channel]))
  );
}
