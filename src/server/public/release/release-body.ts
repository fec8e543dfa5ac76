import type { Health } from '../../../contract/schemas/answers/health.ts';
import type { ReleaseSummary } from '../../../contract/schemas/answers/release.ts';
import type { Readiness } from '../../../contract/schemas/answers/verdict.ts';
import type { Channel } from '../../../domain/release/channel.ts';
import { announcedRelease, type AnnouncedRelease } from '../../../domain/verdict/announced.ts';
import type { Verdict } from '../../../domain/verdict/verdict.ts';
import type { ServedRelease, ServingControl } from '../../serving/serving.ts';

/**
 * Renders a verdict for an answer; times in Unix seconds.
 *
 * @param withChecks lists every check with its outcome
 */
export function renderHealth(verdict: Verdict, withChecks = false): Readiness {
  const { channel, distributable, reason, message, since, release_id, snapshot_id, attestation, checks } =
    verdict;
  return {
    channel,
    distributable,
    reason,
    message,
    since: Math.floor(since / 1000),
    release_id,
    snapshot_id,
    attestation,
    ...(withChecks ? { checks: [...checks] } : {}),
  };
}

/** Renders a verdict in a few words, for diagnostics. */
export function renderHealthBrief(verdict: Verdict): Health['verdicts']['official'] {
  const { distributable, reason, message, since, release_id } = renderHealth(verdict);
  return { distributable, reason, message, since, release_id };
}

/**
 * Renders the summary of a served release.
 *
 * @param attestation that authorizes the release, from the verdict on its channel
 */
export function renderRelease(
  { channel, attested, index }: ServedRelease,
  attestation: NonNullable<Verdict['attestation']>,
): ReleaseSummary {
  return {
    release_id: attested.release_id,
    channel,
    snapshot_id: attested.snapshot_id,
    entry_count: attested.entry_count,
    total_bytes: attested.total_bytes,
    created_at: attested.created_at,
    verified_at: attested.verified_at,
    verification: attested.verification,
    attestation_version: attestation.version,
    expires_at: attestation.expires_at,
    ...(attested.base_release_id === undefined ? {} : { base_release_id: attested.base_release_id }),
    ...(index.header.app_version === undefined ? {} : { app_version: index.header.app_version }),
  };
}

/** The announced release of a channel, once its bytes are served; `null` before that, and without one. */
export function servedAnnouncement(serving: ServingControl, channel: Channel): AnnouncedRelease | null {
  const statement = serving.attestation()?.statement;
  const announced = statement === undefined ? null : announcedRelease(statement, channel);
  return announced !== null && serving.state().byReleaseId.has(announced.release_id) ? announced : null;
}
