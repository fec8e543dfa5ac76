/** Turns the verdict of the server into the text of the banner; pure. */

import { absolute } from './format.js';

/** @import { Health, Readiness, Report } from './wire.d.ts' */
/** @import { ApiFailure } from './api-client.js' */

/** Reasons of a verdict for a release that is not complete and sound on the volume. */
export const DAMAGE_REASONS = new Set(['SnapshotMissing', 'ManifestDamaged', 'EntryMissing', 'EntryDamaged']);

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
 * @param {Report<'release.status'> | null} [known.releases] the last report, if a view asked for it
 * @returns {VerdictSummary}
 */
export function summarizeVerdict({ verdict, failure, reasons, releases = null }) {
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
  const noRelease = reason === 'ReleaseNotAuthorized' ? noReleaseYet(releases) : null;
  if (!distributable && noRelease !== null) {
    return { tone: 'bad', title: 'No release yet', ...noRelease, since, until: null };
  }
  if (!distributable) {
    return {
      tone: 'bad',
      title: 'The official release is not being served',
      why: [`${capitalized(message)} (${reason ?? 'no reason given'})`, health.daemon?.message]
        .filter((text) => typeof text === 'string')
        .join('. '),
      todo: remedy(readiness, health, reasons),
      since,
      until: null,
    };
  }
  const served = `Release ${readiness.release_id ?? ''} is being served`;
  const until = attestation?.expires_at ?? null;
  const { consecutive_failures: failures, last_error_code: code } = health.refresh;
  if (health.daemon?.message) {
    return {
      tone: 'warn',
      title: `${served}, but the daemon does not answer`,
      why: health.daemon.message,
      todo: null,
      since: health.daemon.since,
      until,
    };
  }
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
 * Why there never was a release: the last sync failed.
 *
 * @param {Report<'release.status'> | null} releases
 */
function noReleaseYet(releases) {
  if (releases?.official !== null || releases.sync?.last?.status !== 'failed') return null;
  const { last, next_at: next } = releases.sync;
  return {
    why: `The last sync failed: ${last.message ?? last.code}.`,
    todo:
      next === null
        ? 'Correct the cause, then run sync.'
        : `Correct the cause, then run sync, or wait for the next try at ${absolute(next, next)}.`,
  };
}

/**
 * What to do about a release that is not served. Damage is repaired by the daemon, so it is not while that is away.
 *
 * @param {Readiness} readiness
 * @param {Health} health
 * @param {Readonly<Record<string, string>>} reasons
 */
function remedy({ reason }, { daemon }, reasons) {
  if (reason === null) return null;
  if (!DAMAGE_REASONS.has(reason) || !daemon?.failure) return reasons[reason] ?? null;
  return daemon.failure === 'unreachable'
    ? 'The daemon is not running, so nothing repairs this: start it.'
    : 'The daemon does not answer, so nothing repairs this: restart it if it hangs.';
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
