import { instant } from '../instant.ts';
import type { Channel } from '../release/channel.ts';
import type { Reason } from '../verdict/reasons.ts';
import { daemonAbsence } from './daemon-absence.ts';
import { lastingConditions } from './lasting-conditions.ts';
import { REMEDIES, type NextStep, type ServiceReason } from './service-reasons.ts';
import type { ServiceFacts, ServiceStateName } from './service-state.ts';

/** A state before its consequences are added. */
export interface Finding {
  readonly state: ServiceStateName;
  readonly reason: ServiceReason | null;
  readonly message: string;
  readonly since: number;
  /** Default: the remedy of the reason. */
  readonly next?: NextStep | null;
}

interface Cause {
  readonly reason: ServiceReason;
  readonly message: string;
  readonly since: number | null;
  readonly next: NextStep;
}

/** Conditions that stop the renewal of attestations, the first cause first. */
export const ISSUING = [
  'starting',
  'database_damaged',
  'crash_loop',
  'origin_not_followed',
  'attestation_failing',
] as const;

/** Conditions by which an attestation ends or is refused, the first cause first. */
export const ATTESTING = [
  'starting',
  'database_damaged',
  'crash_loop',
  'clock_off',
  'origin_not_followed',
  'attestation_failing',
] as const;

/** Volumes that refuse writes. When both are one volume without space, a cleanup of releases frees it. */
export const UNWRITABLE = ['volume_full', 'data_volume_full', 'volume_unwritable'] as const;

/** The state stays, which clients notice; the cause becomes the reason. */
export function causedBy(finding: Finding, cause: Cause | null): Finding {
  if (cause === null) return finding;
  return {
    ...finding,
    reason: cause.reason,
    message: `${finding.message}; ${cause.message}`,
    next: cause.next,
  };
}

/** A daemon that does not answer, as a cause; `null` for one that does. */
export function absenceOf({ daemon: { failure, since } }: ServiceFacts): Cause | null {
  return failure === null ? null : { ...daemonAbsence(failure, since), since };
}

/** Polls of the daemon that bring no usable attestation, as a cause. */
export function failingPolls({ daemon, refresh: { failures, code, since } }: ServiceFacts): Cause {
  if (code === 'unreachable' && daemon.failure === null) {
    const message = 'the daemon answers again and has not been polled for an attestation yet';
    return { reason: 'DaemonStarting', message, since, next: REMEDIES.DaemonStarting };
  }
  const polls = failures === 1 ? 'the last poll of the daemon' : `the last ${failures} polls of the daemon`;
  const message = `${polls} brought no usable attestation${code === null ? '' : ` (${code})`}`;
  return { reason: 'RefreshFailing', message, since, next: REMEDIES[causeOfPolls(code)] };
}

/** The reason whose remedy fixes failed polls: that of the refused attestation, or of a daemon that does not answer in time. */
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
export function firstCondition(
  facts: ServiceFacts,
  codes: Parameters<typeof lastingConditions>[1],
  channel: Channel,
): Cause | null {
  const [first] = lastingConditions(facts, codes, channel);
  if (first === undefined) return null;
  const { reason, message, since, next_try: nextTry } = first;
  return { reason, message, since, next: withNextTry(REMEDIES[reason], nextTry) };
}

/** @param nextTry when the daemon does the step automatically, Unix seconds; `null` when it does not */
export function withNextTry(next: NextStep, nextTry: number | null): NextStep {
  if (nextTry === null) return next;
  return { ...next, text: `${next.text} The daemon tries again at ${instant(nextTry)}.` };
}
