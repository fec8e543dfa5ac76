/** Turns the verdict of the server into the text of the banner; pure. */

/** @import { Health, Readiness } from './wire.d.ts' */
/** @import { ApiFailure } from './api-client.js' */

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
 * @property {number | null} since Unix seconds
 * @property {number | null} until Unix seconds: until when it is served if nothing else happens
 */

/**
 * @param {object} known
 * @param {Verdict | null} known.verdict the last one received
 * @param {ApiFailure | null} known.failure of the last request
 * @param {Readonly<Record<string, string>>} known.reasons the meaning of each reason, and what to do
 * @returns {VerdictSummary}
 */
export function summarizeVerdict({ verdict, failure, reasons }) {
  if (verdict === null || failure !== null) return unknown(verdict, failure);
  const { readiness, health } = verdict;
  const { distributable, reason, message, since, attestation } = readiness;
  if (readiness.shutting_down === true) {
    return {
      tone: 'bad',
      title: 'This server is shutting down',
      why: 'Probes fail; requests in progress are completed.',
      todo: null,
      since: null,
      until: null,
    };
  }
  if (!distributable) {
    return {
      tone: 'bad',
      title: 'The official release is not being served',
      why: `${capitalized(message)} (${reason ?? 'no reason given'})`,
      todo: reason === null ? null : (reasons[reason] ?? null),
      since,
      until: null,
    };
  }
  const served = `Release ${readiness.release_id ?? ''} is being served`;
  const until = attestation?.expires_at ?? null;
  const { consecutive_failures: failures, last_error_code: code } = health.refresh;
  if (failures > 0) {
    return {
      tone: 'warn',
      title: `${served}, but the daemon does not answer`,
      why: `The last ${failures === 1 ? 'poll' : `${failures} polls`} failed (${code ?? 'unknown'}).`,
      todo: 'Check the daemon. The server serves clients until the last attestation expires.',
      since,
      until,
    };
  }
  return { tone: 'good', title: served, why: `${capitalized(message)}.`, todo: null, since, until };
}

/**
 * @param {Verdict | null} verdict
 * @param {ApiFailure | null} failure
 * @returns {VerdictSummary}
 */
function unknown(verdict, failure) {
  if (failure === null) {
    return { tone: 'unknown', title: 'Loading the verdict', why: '', todo: null, since: null, until: null };
  }
  const before =
    verdict?.readiness.distributable === true ? 'served the release' : 'did not serve the release';
  return {
    tone: 'unknown',
    title: failure.isOffline ? 'The server does not answer' : 'The verdict cannot be read',
    why: [
      failure.isOffline ? '' : failure.message,
      verdict === null ? '' : `At its last answer it ${before}.`,
    ]
      .join(' ')
      .trim(),
    todo: 'Check that the server runs and that this browser reaches it. The page retries automatically.',
    since: null,
    until: null,
  };
}

/** @param {string} text */
function capitalized(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
