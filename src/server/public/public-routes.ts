import { PUBLIC_OPERATIONS } from '../../contract/operations/operations-public.ts';
import type { DistributionRoutes } from './distribution/distribution-routes.ts';
import type { HealthRoutes } from './health/health-routes.ts';
import type { LauncherRoutes } from './launcher/launcher-routes.ts';
import type { ReleaseRoutes } from './release/release-routes.ts';
import { NO_CACHE, type Answer } from '../http/answer.ts';
import { publicRoute, type PublicRoute } from '../http/public-route.ts';

/** The handlers behind the public routes. */
export interface PublicHandlers {
  readonly health: HealthRoutes;
  readonly release: ReleaseRoutes;
  readonly distribution: DistributionRoutes;
  readonly launcher: LauncherRoutes;
  readonly serverInfo: () => Promise<Answer>;
  /** The rendered OpenAPI document. */
  readonly openApi: Uint8Array;
}

/** Every public operation except the two of the byte path, bound to its handler. */
export function createPublicRoutes(handlers: PublicHandlers): readonly PublicRoute[] {
  const { health, release, distribution, launcher, serverInfo, openApi } = handlers;
  const operations = PUBLIC_OPERATIONS;
  const openApiAnswer: Answer = {
    status: 200,
    headers: { 'content-type': 'application/yaml; charset=utf-8', 'cache-control': NO_CACHE },
    body: [openApi],
  };
  return [
    publicRoute(operations.getHealth, () => health.healthz()),
    publicRoute(operations.getReadiness, (query) => health.readyz(query)),
    publicRoute(operations.getBootstrap, () => release.bootstrap()),
    publicRoute(operations.getRelease, () => release.release()),
    publicRoute(operations.listReleases, async (query, signal) => release.releases(query, signal)),
    publicRoute(
      operations.getDistribution,
      async (query, signal) => distribution.distribution(query, signal),
      { isCompressed: true },
    ),
    publicRoute(operations.listResources, (query) => distribution.resources(query), { isCompressed: true }),
    publicRoute(operations.getServerInfo, async () => serverInfo()),
    publicRoute(operations.getLauncherBootstrap, async () => launcher.bootstrap()),
    publicRoute(operations.getLauncherGameConfig, async () => launcher.gameConfig()),
    publicRoute(operations.getLauncherConfigJson, () => launcher.gameConfigJson()),
    publicRoute(operations.getLauncherCdn, () => launcher.downloadCdn()),
    publicRoute(operations.getOpenApi, () => openApiAnswer),
  ];
}
