/** Puts the state of the service into words; pure. The server decides the state. */

import { WITH_RESUME } from '../../domain/service-state/resume-argument.ts';
import type { ApiFailure } from '../api/api-client.ts';
import type { Health, Readiness } from '../api/wire.ts';
import { stateWords, type ServiceState, type StateWords } from './service-states.ts';

export interface Verdict {
  readonly readiness: Readiness;
  readonly health: Health;
}

export interface VerdictSummary {
  readonly tone: StateWords['tone'] | 'unknown';
  readonly title: string;
  readonly why: string;
  readonly todo: string | null;
  readonly action: string | null;
  /** The things that are unknown because of the cause. */
  readonly unknown: string | null;
  /** Unix seconds. */
  readonly unknownSince: number | null;
  /** Unix seconds. */
  readonly since: number | null;
  /** Unix seconds: until when it is served if nothing else happens; `null` while the daemon renews its attestation. */
  readonly until: number | null;
}

/** With less time left, a warning is an emergency: nobody finds and settles a cause faster, seconds. */
export const URGENT_SECONDS = 120;

/**
 * Puts the state, as the server decides it, into words.
 *
 * @param verdict the last one received
 * @param failure of the last request
 * @param now Unix seconds
 */
export function summarizeVerdict(
  verdict: Verdict | null,
  failure: ApiFailure | null,
  now: number,
): VerdictSummary {
  if (verdict === null || failure !== null) return unknown(verdict, failure);
  const { readiness, health } = verdict;
  const { service } = health;
  const { state, reason, message, since, next_step: next, caused } = service;
  const open = caused.filter((each) => each.since !== null);
  const until = endOf(verdict);
  const isUrgent = until !== null && until - now <= URGENT_SECONDS;
  return {
    tone: isUrgent ? 'bad' : stateWords(state).tone,
    title: isUrgent
      ? `Release ${readiness.release_id ?? ''} is served only until its attestation ends`
      : titleOf(service, readiness),
    why: `${capitalized(message)}${reason === null ? '' : ` (${reason})`}.`,
    // Its button and the page Publish do this.
    todo: next?.text.replace(WITH_RESUME, '') ?? null,
    action: next?.action ?? null,
    unknown: open.length === 0 ? null : open.map(({ what }) => what).join(', '),
    unknownSince: open[0]?.since ?? null,
    since,
    until,
  };
}

const ENDING: ReadonlySet<string> = new Set([
  'DaemonUnreachable',
  'DaemonTimeout',
  'RefreshFailing',
  'AttestationFailing',
  'DatabaseDamaged',
  'CrashLoop',
]);

/** Until when files are served while the cause lasts, Unix seconds; `null` while the attestation is renewed. */
function endOf({ readiness, health: { daemon, service } }: Verdict): number | null {
  const isEnding = !daemon.answers || (service.reason !== null && ENDING.has(service.reason));
  return isEnding && readiness.distributable ? (readiness.attestation?.expires_at ?? null) : null;
}

const WITHHELD: ReadonlySet<ServiceState['state']> = new Set(['stale', 'damaged', 'expired', 'untrusted']);

function titleOf({ state, channels }: ServiceState, { release_id: release }: Readiness): string {
  const isPartial = state === 'degraded' && WITHHELD.has(channels.localized.state);
  if (isPartial) return `Release ${release ?? ''} is being served, but the localized channel is not`;
  switch (state) {
    case 'healthy':
      return `Release ${release ?? ''} is being served`;
    case 'degraded':
      return channels.official.state === 'healthy'
        ? `Release ${release ?? ''} is being served, but the localized channel needs attention`
        : `Release ${release ?? ''} is being served, but something needs attention`;
    case 'starting':
      return 'The service is starting';
    case 'stopping':
      return 'This server is shutting down';
    case 'unpublished':
      return 'No release yet';
    default:
      return 'The official release is not being served';
  }
}

function unknown(verdict: Verdict | null, failure: ApiFailure | null): VerdictSummary {
  if (failure === null) {
    return { ...NOTHING, tone: 'unknown', title: 'Loading the verdict', why: '' };
  }
  const before =
    verdict?.readiness.distributable === true ? 'served the release' : 'did not serve the release';
  return {
    ...NOTHING,
    tone: 'unknown',
    title: unreadTitle(failure),
    why: [
      failure.isOffline ? '' : failure.message,
      verdict === null ? '' : `At its last answer it ${before}.`,
    ]
      .join(' ')
      .trim(),
    todo: failure.isSignedOut
      ? failure.message
      : 'Check that the server runs and that this browser reaches it. The page retries automatically.',
  };
}

function unreadTitle({ isOffline, isSignedOut }: ApiFailure): string {
  if (isSignedOut) return 'You are signed out';
  return isOffline ? 'The server does not answer' : 'The verdict cannot be read';
}

const NOTHING = { todo: null, action: null, unknown: null, unknownSince: null, since: null, until: null };

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
