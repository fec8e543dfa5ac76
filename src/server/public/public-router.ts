import { Router } from 'express';

import { PUBLIC_OPERATIONS } from '../../contract/operations/operations-public.ts';
import { NO_CACHE, type Answer } from '../http/answer.ts';
import { contextOf, requireEncoding } from '../http/exchange.ts';
import { answerPublicRoute, publicRoute, sendOptions, type PublicRoute } from '../http/public-route.ts';
import type { TokenVerifier } from '../http/token-verifier.ts';
import { distributionRoutes } from './distribution/distribution-routes.ts';
import { healthRoutes } from './health/health-routes.ts';
import { launcherRoutes } from './launcher/launcher-routes.ts';
import type { PublicParts } from './public-parts.ts';
import { releaseRoutes } from './release/release-routes.ts';
import { serverInfoRoute } from './server-info/server-info-route.ts';

/**
 * Makes the router of the public surface: every public operation except the two of the byte path.
 *
 * @param tokens checks tokens; `null` if the public routes are open
 */
export function createPublicRouter(parts: PublicParts, tokens: TokenVerifier | null): Router {
  const routes: readonly PublicRoute[] = [
    ...healthRoutes(parts),
    ...releaseRoutes(parts),
    ...distributionRoutes(parts),
    ...launcherRoutes(parts),
    serverInfoRoute(parts),
    openApiRoute(parts.openApi),
  ];
  const router = Router({ caseSensitive: true, strict: true });
  router.use(async (request, response, next) => {
    const { path } = contextOf(request).target;
    requireEncoding(path, 'path');
    if (path === '*') await sendOptions({ request, response });
    else next();
  });
  for (const route of routes) {
    router.all(route.path, async (request, response) => {
      await answerPublicRoute(route, { request, response }, tokens);
    });
  }
  return router;
}

function openApiRoute(document: Uint8Array): PublicRoute {
  const answer: Answer = {
    status: 200,
    headers: { 'content-type': 'application/yaml; charset=utf-8', 'cache-control': NO_CACHE },
    body: [document],
  };
  return publicRoute(PUBLIC_OPERATIONS.getOpenApi, () => answer);
}
