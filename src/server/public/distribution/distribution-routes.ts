import { ServiceError } from '../../../contract/problems/service-error.ts';
import type { Distribution, ResourcesPage } from '../../../contract/schemas/answers/distribution.ts';
import type { Channel } from '../../../domain/release/channel.ts';
import { parseReleaseId } from '../../../domain/release/release-id.ts';
import { reasonOfDamage } from '../../../domain/verdict/damage-kind.ts';
import type { Verdict } from '../../../domain/verdict/verdict.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { jsonAnswer, NO_CACHE, type Answer } from '../../http/answer.ts';
import { requireCurrent } from '../../http/not-distributable.ts';
import { renderHealth, renderRelease } from '../release/release-body.ts';
import type { ReleaseHistory } from '../release/release-lookup.ts';
import type { ServedRelease, Serving } from '../../serving/serving.ts';
import { SERVER_INFO_NAME } from '../../../domain/release/server-info-document.ts';
import type { VerifiedDocumentReader } from '../../serving/verified-document.ts';
import { cutPage } from './resource-page.ts';
import type { Revalidator } from './revalidator.ts';

export interface DistributionRoutesOptions {
  readonly serving: Serving;
  readonly history: ReleaseHistory;
  readonly revalidator: Revalidator;
  readonly readDocument: VerifiedDocumentReader;
  readonly clock: Clock;
}

/** The parsed query of `/v1/distribution`. */
export interface DistributionSelection {
  readonly channel: Channel;
  readonly release_id?: string | undefined;
  readonly destination?: string | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** The answers that list entries. */
export interface DistributionRoutes {
  /** `/v1/resources`; throws ServiceError `not_distributable`. */
  resources(query: { readonly offset: number; readonly limit: number }): Answer;
  /**
   * `/v1/distribution`; throws ServiceError `release_not_distributable` (409), `unknown_destination` (404: the release
   * is good, it has no such entry), `backend_unavailable` (503: only the daemon could say what the release is).
   */
  distribution(query: DistributionSelection, signal: AbortSignal): Promise<Answer>;
}

/** Makes the handlers of `/v1/resources` and `/v1/distribution`. */
export function createDistributionRoutes(options: DistributionRoutesOptions): DistributionRoutes {
  const { serving } = options;
  return {
    resources: (query) => {
      const { release } = requireCurrent(serving, 'official');
      return jsonAnswer(cutPage(release, query), { cacheControl: NO_CACHE });
    },
    distribution: async (query, signal) => {
      const release = await selectRelease(options, query, signal);
      const { page, revalidated } =
        query.destination === undefined
          ? { page: cutPage(release, query), revalidated: undefined }
          : await revalidateEntry(options, release, query.destination);
      const first = isFirstPage(query) ? await firstPageOf(options, release) : {};
      const verdict = serving.verdict(release.channel);
      if (verdict.attestation === null) throw conflict(verdict.message, verdict.reason);
      return jsonAnswer(
        {
          ...page,
          release: renderRelease(release, verdict.attestation),
          distribution: renderHealth(verdict),
          ...first,
          ...(revalidated === undefined ? {} : { revalidated }),
        } satisfies Distribution,
        { cacheControl: NO_CACHE },
      );
    },
  };
}

async function selectRelease(
  { serving, history }: DistributionRoutesOptions,
  { channel, release_id }: DistributionSelection,
  signal: AbortSignal,
): Promise<ServedRelease> {
  const verdict = serving.verdict(channel);
  const { current, byReleaseId } = serving.state();
  if (release_id === undefined || release_id === verdict.release_id) {
    const release = current[channel];
    if (!verdict.distributable || release === null) throw conflict(verdict.message, verdict.reason);
    return release;
  }
  const parsed = parseReleaseId(release_id);
  if (!parsed.ok) {
    throw new ServiceError('invalid_request', 'The query is not valid.', {
      errors: [{ pointer: 'release_id', message: parsed.error }],
    });
  }
  const release = byReleaseId.get(release_id);
  if (release?.channel === channel) {
    requireServable(serving, release);
    return release;
  }
  const state = await history.stateOf(channel, release_id, signal);
  throw conflict(
    state === null
      ? `the ${channel} channel has no release ${release_id}`
      : `${channel} release ${release_id} is ${state} and not served`,
    verdict.reason ?? 'ReleaseNotAuthorized',
  );
}

function isFirstPage({ destination, offset }: DistributionSelection): boolean {
  return destination === undefined && offset === 0;
}

/** The members of the first page alone, with which a mirror rebuilds the manifest and copies the whole release. */
async function firstPageOf(
  { serving, readDocument }: DistributionRoutesOptions,
  release: ServedRelease,
): Promise<Pick<Distribution, 'header' | 'server_info'>> {
  const { document, index } = release;
  const { header } = index;
  if (document === null) return { header, server_info: null };
  const found = await readDocument(document);
  if (!found.ok) {
    const { kind, message } = found.error;
    const { blake3 } = document;
    serving.reportDamage({ destination: SERVER_INFO_NAME, blake3, kind, message, found_by: 'client' });
    throw conflict(`the server-info document: ${message}`, reasonOfDamage(kind));
  }
  requireServable(serving, release);
  return { header, server_info: found.value };
}

/** Reads the object of one entry again, even if it was verified before. */
async function revalidateEntry(
  { serving, revalidator, clock }: DistributionRoutesOptions,
  release: ServedRelease,
  destination: string,
): Promise<{
  readonly page: ResourcesPage;
  readonly revalidated: NonNullable<Distribution['revalidated']>;
}> {
  const position = release.index.find(destination);
  if (position === -1) {
    throw new ServiceError(
      'unknown_destination',
      `Release ${release.releaseId} has no entry with this destination.`,
    );
  }
  const entry = release.index.entry(position);
  const { blake3, size } = entry;
  const found = await revalidator.revalidate(entry);
  if (!found.ok) {
    const { kind, message } = found;
    serving.reportDamage({ destination: entry.destination, blake3, kind, message, found_by: 'client' });
    throw conflict(`${entry.destination}: ${message}`, reasonOfDamage(kind));
  }
  // The release may have been withdrawn while the object was read.
  requireServable(serving, release);
  const page = cutPage(release, { offset: position, limit: 1 });
  return {
    page: { ...page, total: 1, offset: 0, next_offset: null },
    revalidated: { destination: entry.destination, size, blake3, verified_at: unixSeconds(clock) },
  };
}

function requireServable(serving: Serving, release: ServedRelease): void {
  const servable = serving.servable(release);
  if (!servable.ok) throw conflict(servable.message, servable.reason);
}

function conflict(detail: string, reason: Verdict['reason']): ServiceError {
  return new ServiceError(
    'release_not_distributable',
    `The selected release cannot be distributed: ${detail}.`,
    reason === null ? {} : { reason },
  );
}
