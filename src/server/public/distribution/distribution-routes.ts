import type { z } from 'zod';

import { PUBLIC_OPERATIONS } from '../../../contract/operations/operations-public.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import type { Distribution, ResourcesPage } from '../../../contract/schemas/answers/distribution.ts';
import { parseReleaseId } from '../../../domain/release/release-id.ts';
import { SERVER_INFO_NAME } from '../../../domain/release/server-info-document.ts';
import { reasonOfDamage } from '../../../domain/verdict/damage-kind.ts';
import type { Verdict } from '../../../domain/verdict/verdict.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { jsonAnswer, NO_CACHE } from '../../http/answer.ts';
import { requireCurrent } from '../../http/not-distributable.ts';
import { publicRoute, type PublicRoute } from '../../http/public-route.ts';
import type { ServedRelease, Serving } from '../../serving/serving.ts';
import { changesOf } from '../../../snapshot/manifest/compare-manifests.ts';
import { readVerifiedDocument } from '../../serving/verified-document.ts';
import type { PublicParts } from '../public-parts.ts';
import { renderHealth, renderRelease } from '../release/release-body.ts';
import { listReleases } from '../release/release-lookup.ts';
import { createDifferences, type FindDifference } from './differences.ts';
import { createRevalidator, type Revalidate } from './revalidator.ts';

type Selection = z.infer<typeof PUBLIC_OPERATIONS.getDistribution.query>;

/** `/v1/resources` and `/v1/distribution`. */
export function distributionRoutes(parts: PublicParts): readonly PublicRoute[] {
  const { serving, config, pool } = parts;
  const revalidate = createRevalidator({
    root: config.snapshot.root,
    pool,
    concurrency: config.limits.revalidations,
  });
  const differenceOf = createDifferences();
  return [
    publicRoute(
      PUBLIC_OPERATIONS.listResources,
      (query) => {
        const { release } = requireCurrent(serving, 'official');
        return jsonAnswer(cutPage(release, query), { cacheControl: NO_CACHE });
      },
      { isCompressed: true },
    ),
    publicRoute(
      PUBLIC_OPERATIONS.getDistribution,
      async (query, signal) => {
        const release = await selectRelease(parts, query, signal);
        const { page, revalidated } =
          query.destination === undefined
            ? { page: await pageOf(parts, differenceOf, release, query, signal), revalidated: undefined }
            : await revalidateEntry(parts, revalidate, release, query.destination);
        const first = isFirstPage(query) ? await firstPageOf(parts, release) : {};
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
      { isCompressed: true },
    ),
  ];
}

async function selectRelease(
  { serving, client }: PublicParts,
  { channel, release_id }: Selection,
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
  // Only the daemon can say what this release is.
  const { releases } = await listReleases(client, channel, signal);
  const known = releases.find((each) => each.release_id === release_id);
  throw conflict(
    known === undefined
      ? `the ${channel} channel has no release ${release_id}`
      : `${channel} release ${release_id} is ${known.state} and not served`,
    verdict.reason ?? 'ReleaseNotAuthorized',
  );
}

function isFirstPage({ destination, offset }: Selection): boolean {
  return destination === undefined && offset === 0;
}

/** The members that only the first page has: a mirror rebuilds the manifest with them and copies the complete release. */
async function firstPageOf({ serving, objects }: PublicParts, release: ServedRelease) {
  const { document, index } = release;
  const { header } = index;
  if (document === null) return { header, server_info: null };
  const found = await readVerifiedDocument(objects, document);
  if (!found.ok) {
    const { kind, message } = found.error;
    const { blake3 } = document;
    serving.reportDamage({ destination: SERVER_INFO_NAME, blake3, kind, message, found_by: 'client' });
    throw conflict(`the server-info document: ${message}`, reasonOfDamage(kind));
  }
  requireServable(serving, release);
  return { header, server_info: found.value };
}

async function revalidateEntry(
  { serving, clock }: PublicParts,
  revalidate: Revalidate,
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
  const found = await revalidate(entry);
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

/**
 * Cuts a page of a manifest, in destination byte order. The cost grows with `limit`, not with `offset`.
 *
 * @param range `offset` past the end gives an empty page
 */
function cutPage(
  { releaseId, channel, snapshotId, index }: ServedRelease,
  { offset, limit }: { offset: number; limit: number },
): ResourcesPage {
  const end = Math.min(index.length, offset + limit);
  return {
    release_id: releaseId,
    channel,
    snapshot_id: snapshotId,
    total: index.length,
    offset,
    limit,
    next_offset: end < index.length ? end : null,
    items: [...index.entries(offset, limit)],
  };
}

/**
 * A page of the difference from the snapshot that the client has. It gets the whole manifest instead when that snapshot is not served
 * any longer, when the difference is large, and when too many comparisons wait. What the difference is from was public, too.
 */
async function pageOf(
  { serving }: PublicParts,
  differenceOf: FindDifference,
  release: ServedRelease,
  query: Selection,
  signal: AbortSignal,
): Promise<ResourcesPage & Pick<Distribution, 'since' | 'removed'>> {
  const { since, offset, limit } = query;
  const known = [...serving.state().byReleaseId.values()].find(({ snapshotId }) => snapshotId === since);
  if (known === undefined) return cutPage(release, query);
  const [from, to] = [known.index, release.index];
  const difference = await differenceOf(from, to, signal);
  if (difference === null) return cutPage(release, query);
  // The release may have been withdrawn while the manifests were compared.
  requireServable(serving, release);
  const changes = changesOf(difference, { from, to }, query);
  const end = Math.min(difference.length, offset + limit);
  return {
    ...cutPage(release, { offset, limit: 0 }),
    since: known.snapshotId,
    total: difference.length,
    limit,
    next_offset: end < difference.length ? end : null,
    items: changes.flatMap(({ entry }) => (entry === null ? [] : [entry])),
    removed: changes.flatMap(({ destination, entry }) => (entry === null ? [destination] : [])),
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
