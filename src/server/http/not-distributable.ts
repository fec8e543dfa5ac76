import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { Verdict } from '../../domain/verdict/verdict.ts';
import type { ServedRelease, Serving } from '../serving/serving.ts';

/** Seconds after which a client may ask again: about one refresh. */
export const RETRY_AFTER_SECONDS = 10;

/** The 503 of a channel that must not be served now. */
export function notDistributable(verdict: Verdict): ServiceError {
  return new ServiceError(
    'not_distributable',
    `The current ${verdict.channel} release is not distributable: ${verdict.message}.`,
    { ...(verdict.reason === null ? {} : { reason: verdict.reason }), retryAfter: RETRY_AFTER_SECONDS },
  );
}

/** A release that is served now. */
export interface CurrentRelease {
  readonly release: ServedRelease;
  readonly verdict: Verdict;
  readonly attestation: NonNullable<Verdict['attestation']>;
}

/**
 * The current release of a channel and the verdict that makes it distributable.
 *
 * @throws ServiceError `not_distributable` (503)
 */
export function requireCurrent(serving: Serving, channel: Channel): CurrentRelease {
  const verdict = serving.verdict(channel);
  const release = serving.state().current[channel];
  const { attestation } = verdict;
  if (!verdict.distributable || release === null || attestation === null) throw notDistributable(verdict);
  return { release, verdict, attestation };
}
