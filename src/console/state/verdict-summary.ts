/** Puts the state of the service into the words of the banner; pure. The server decides the state. */

/** @import { Health, Readiness } from './wire.d.ts' */
/** @import { ApiFailure } from './api-client.js' */

/** @typedef {NonNullable<Health['service']>} ServiceState */

/**
 * @typedef {object} Verdict
 * @property {Readiness} readiness
 * @property {Health} health
 *
 * @typedef {object} VerdictSummary
 * @property {'good' | 'warn' | 'bad' | 'unknown'} tone
 * @property {string} title whether the release is served
 * @property {string} why
 * @property {string | null} todo
 * @property {string | null} action the control action that does it
 * @property {string | null} unknown the things that are unknown because of the cause
 * @property {number | null} unknownSince Unix seconds
 * @property {number | null} since Unix seconds
 * @property {number | null} until Unix seconds: until when it is served if nothing else happens
 */

/** @type {Readonly<Record<ServiceState['state'], VerdictSummary['tone']>>} */
const TONES = {
  healthy: 'good',
  degraded: 'warn',
  starting: 'warn',
  stopping: 'bad',
  unpublished: 'bad',
  damaged: 'bad',
  expired: 'bad',
  stale: 'bad',
  untrusted: 'bad',
};

/**
 * Puts the state, as the server decides it, into words.
 *
 * @param {object} known
 * @param {Verdict | null} known.verdict the last one received
 * @param {ApiFailure | null} known.failure of the last request
 * @returns {VerdictSummary}
 */
export function summarizeVerdict({ verdict, failure }) {
  const service = verdict?.health.service;
  if (verdict === null || service === undefined || failure !== null) return unknown(verdict, failure);
  const { state, reason, message, since, next_step: next, caused } = service;
  const { readiness } = verdict;
  const open = caused.filter((each) => each.since !== null);
  return {
    tone: TONES[state],
    title: titleOf(state, readiness),
    why: `${capitalized(message)}${reason === null ? '' : ` (${reason})`}.`,
    todo: next?.text ?? null,
    action: next?.action ?? null,
    unknown: open.length === 0 ? null : open.map(({ what }) => what).join(', '),
    unknownSince: open[0]?.since ?? null,
    since,
    until: readiness.distributable ? (readiness.attestation?.expires_at ?? null) : null,
  };
}

/**
 * @param {ServiceState['state']} state
 * @param {Readiness} readiness
 */
function titleOf(state, { release_id: release }) {
  switch (state) {
    case 'healthy':
      return `Release ${release ?? ''} is being served`;
    case 'degraded':
      return `Release ${release ?? ''} is being served, but something needs attention`;
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

/**
 * @param {Verdict | null} verdict
 * @param {ApiFailure | null} failure
 * @returns {VerdictSummary}
 */
function unknown(verdict, failure) {
  if (failure === null) {
    return { ...NOTHING, tone: 'unknown', title: 'Loading the verdict', why: '' };
  }
  const before =
    verdict?.readiness.distributable === true ? 'served the release' : 'did not serve the release';
  return {
    ...NOTHING,
    tone: 'unknown',
    title: failure.isOffline ? 'The server does not answer' : 'The verdict cannot be read',
    why: [
      failure.isOffline ? '' : failure.message,
      verdict === null ? '' : `At its last answer it ${before}.`,
    ]
      .join(' ')
      .trim(),
    todo: 'Check that the server runs and that this browser reaches it. The page retries automatically.',
  };
}

/** A summary without further facts. */
const NOTHING = { todo: null, action: null, unknown: null, unknownSince: null, since: null, until: null };

/** @param {string} text */
function capitalized(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
