import { PUBLIC_OPERATIONS } from '../../../contract/operations/operations-public.ts';
import type { Bootstrap, ReleaseBody, ReleasesBody } from '../../../contract/schemas/answers/release.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import { jsonAnswer, NO_CACHE, NO_STORE } from '../../http/answer.ts';
import { requireCurrent } from '../../http/not-distributable.ts';
import { publicRoute, type PublicRoute } from '../../http/public-route.ts';
import type { ServingControl } from '../../serving/serving.ts';
import type { PublicParts } from '../public-parts.ts';
import { renderHealth, renderRelease, servedAnnouncement } from './release-body.ts';
import { listReleases } from './release-lookup.ts';

/** `/v1/bootstrap`, `/v1/release` and `/v1/releases`. */
export function releaseRoutes({ serving, client, urls, version }: PublicParts): readonly PublicRoute[] {
  return [
    publicRoute(PUBLIC_OPERATIONS.getBootstrap, () => {
      const { release, verdict, attestation } = requireCurrent(serving, 'official');
      return jsonAnswer(
        {
          service: { name: 'slipway', version },
          public_base_url: urls.base,
          cdn: {
            host: urls.cdnHost,
            root: urls.releaseRoot(release.releaseId),
            release_path: urls.releasePath(release.releaseId),
            current_path: `/${urls.cdnHost}`,
          },
          release: renderRelease(release, attestation),
          distribution: renderHealth(verdict),
          links: {
            resources: urls.route('/v1/resources'),
            distribution: urls.route('/v1/distribution'),
            server_info: urls.route('/v1/server-info'),
            launcher_bootstrap: urls.route('/v1/launcher/bootstrap'),
            openapi: urls.route('/openapi.yaml'),
          },
        } satisfies Bootstrap,
        { cacheControl: NO_STORE },
      );
    }),
    // 200 even while nothing is distributable; the health in the body says so.
    publicRoute(PUBLIC_OPERATIONS.getRelease, () => {
      const verdict = serving.verdict('official');
      const release = serving.state().current.official;
      const { attestation } = verdict;
      const body: ReleaseBody = {
        release: release === null || attestation === null ? null : renderRelease(release, attestation),
        distribution: renderHealth(verdict),
        announced: announcedOf(serving),
        cdn_host: urls.cdnHost,
        attestation: readEnvelope(serving.envelope()),
      };
      return jsonAnswer(body, { cacheControl: NO_CACHE, headers: { etag: releaseTag(body) } });
    }),
    publicRoute(PUBLIC_OPERATIONS.listReleases, async ({ channel }, signal) => {
      const report = await listReleases(client, channel, signal);
      return jsonAnswer({ total: report.total, releases: report.releases } satisfies ReleasesBody, {
        cacheControl: NO_CACHE,
      });
    }),
  ];
}

function announcedOf(serving: ServingControl): ReleaseBody['announced'] {
  const announced = servedAnnouncement(serving, 'official');
  if (announced === null) return null;
  const { release_id, channel, snapshot_id, entry_count, total_bytes, current_at } = announced;
  return { release_id, channel, snapshot_id, entry_count, total_bytes, current_at };
}

/**
 * The entity tag of `/v1/release`. It is weak: the processes of a server learn of a change at different moments, so their
 * answers differ in `since` only.
 */
function releaseTag({ distribution, ...body }: ReleaseBody): string {
  const { since: _since, ...health } = distribution;
  return `W/"${blake3Hex(Buffer.from(JSON.stringify([body, health])))}"`;
}

const envelopes = new WeakMap<Uint8Array, ReleaseBody['attestation']>();

/** An accepted envelope as JSON. It was parsed before, so it is one. */
function readEnvelope(bytes: Uint8Array | null): ReleaseBody['attestation'] {
  if (bytes === null) return null;
  const known = envelopes.get(bytes);
  if (known !== undefined) return known;
  const envelope = JSON.parse(Buffer.from(bytes).toString()) as ReleaseBody['attestation'];
  envelopes.set(bytes, envelope);
  return envelope;
}
