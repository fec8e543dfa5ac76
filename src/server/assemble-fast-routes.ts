import { PUBLIC_OPERATIONS } from '../contract/operations/operations-public.ts';
import { renderProblem } from '../platform/http/problem.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { READ_ROUTES, type ReadRoute } from './admin/admin-routes.ts';
import type { AdminSurface } from './admin/admin-surface.ts';
import type { FastRoute, FastRoutes } from './fast-path/fast-routes.ts';
import { problemAnswer } from './http/answer.ts';
import { logFailure } from './http/log-failure.ts';
import type { PublicRoute } from './http/public-route.ts';

/** What answers at once, from memory. */
const PROBES: ReadonlySet<string> = new Set([
  PUBLIC_OPERATIONS.getHealth.path,
  PUBLIC_OPERATIONS.getReadiness.path,
]);

/** Requests come here only in HTTP/1.1. */
const HTTP_VERSION = '1.1';

/** The routes that the fast path answers beside resource bytes: the probes, and the reads of the admin surface. */
export function assembleFastRoutes({
  routes,
  admin,
  logger,
}: {
  readonly routes: readonly PublicRoute[];
  readonly admin: AdminSurface;
  readonly logger: Logger;
}): FastRoutes {
  const probes = routes.filter(({ path }) => PROBES.has(path)).map((route) => probeRoute(route, logger));
  const reads = [...READ_ROUTES.values()].map((route) => readRoute(route, admin, logger));
  return new Map([...probes, ...reads].map((route) => [route.route, route]));
}

function probeRoute({ path: route, answer }: PublicRoute, logger: Logger): FastRoute {
  // A probe waits for nothing.
  const { signal } = new AbortController();
  return {
    route,
    answer: (request) => {
      try {
        const made = answer(new URLSearchParams(request.query), signal);
        if (!(made instanceof Promise)) return made;
        throw new TypeError(`${route} is no route that answers at once`);
      } catch (error) {
        const requestId = request.requestId();
        logFailure(logger, error, { route, request_id: requestId });
        return problemAnswer(renderProblem(error, requestId));
      }
    },
  };
}

function readRoute(route: ReadRoute, admin: AdminSurface, logger: Logger): FastRoute {
  return {
    route: route.template,
    answer: async (request) => {
      const { query, source, via, authorization } = request;
      const requestId = request.requestId();
      const read = {
        route,
        query,
        authorization: authorization === undefined ? [] : [authorization],
        source,
        hasBody: false,
        via,
        httpVersion: HTTP_VERSION,
        requestId,
        signal: request.signal(),
      };
      return await admin.read(read, (error) => {
        logFailure(logger, error, { route: route.template, request_id: requestId });
      });
    },
  };
}
