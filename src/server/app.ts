import type { IncomingMessage, ServerResponse } from 'node:http';

import express, { type Express } from 'express';

import { PUBLIC_OPERATIONS } from '../contract/operations/operations-public.ts';
import { ServiceError } from '../contract/problems/service-error.ts';
import { requestId } from '../platform/process/ids.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { findAdminRoute, isAdminPath } from './admin/admin-routes.ts';
import type { AdminSurface } from './admin/admin-surface.ts';
import type { CdnHandler } from './bytes/cdn-handler.ts';
import { DASHBOARD_PATH, isDashboardPath, type DashboardRoute } from './dashboard/dashboard-route.ts';
import { logFailure } from './http/log-failure.ts';
import { messageProblem } from './http/message-rules.ts';
import type { ObservedRequest } from './http/observe-request.ts';
import {
  answerPublicRoute,
  badEncoding,
  failRequest,
  PUBLIC_METHODS,
  requireToken,
  type PublicRoute,
  type RequestContext,
} from './http/public-route.ts';
import { isWellEncoded, splitTarget, type RequestTarget } from './http/request-target.ts';
import { sendAnswer } from './http/send-answer.ts';
import type { TokenVerifier } from './http/token-verifier.ts';

/** What {@link createServerApp} needs. */
export interface ServerAppOptions {
  readonly routes: readonly PublicRoute[];
  readonly cdn: CdnHandler;
  readonly cdnHost: string;
  readonly admin: AdminSurface;
  readonly dashboard: DashboardRoute;
  /** Checks tokens on public routes, `null` where these are open. */
  readonly tokens: TokenVerifier | null;
  readonly createRequestId: () => string;
  readonly observe: (observed: ObservedRequest) => void;
  readonly logger: Logger;
}

/** The route label of requests that match nothing. */
const NO_ROUTE = 'none';

/** The route label of resource bytes. */
export const CDN_ROUTE = PUBLIC_OPERATIONS.getResource.path;

/**
 * Makes the request listener: probes, resource bytes, the dashboard and the admin surface are answered in front,
 * everything else goes through Express.
 */
export function createServerApp(
  options: ServerAppOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { cdn, cdnHost, admin, dashboard, tokens, logger } = options;
  const cdnPrefix = `/${cdnHost}/`;
  const contexts = new WeakMap<IncomingMessage, RequestContext>();
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const probes = new Map(
    [PUBLIC_OPERATIONS.getHealth.path, PUBLIC_OPERATIONS.getReadiness.path].map((path) => [
      path as string,
      routes.get(path),
    ]),
  );
  const app = createExpress(options.routes, contexts, tokens);

  const begin = (
    request: IncomingMessage,
    response: ServerResponse,
    target: RequestTarget,
  ): RequestContext => {
    const id = requestId(request.headers['x-request-id'], options.createRequestId);
    const isCdn = target.path.startsWith(cdnPrefix);
    const template = isDashboardPath(target.path)
      ? DASHBOARD_PATH
      : (routes.get(target.path)?.path ?? findAdminRoute(target.path)?.template);
    const route = isCdn ? CDN_ROUTE : (template ?? NO_ROUTE);
    options.observe({ request, response, route, requestId: id });
    // Whoever asks again for the id of this request must get this one.
    request.headers['x-request-id'] = id;
    return {
      requestId: id,
      target,
      onError: (error) => {
        logFailure(logger, error, { route, request_id: id });
      },
    };
  };

  const serveBytes = async (
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
  ): Promise<void> => {
    try {
      await requireToken(tokens, request, new URLSearchParams(context.target.query));
      cdn.handle(request, response, context.target.text);
    } catch (error) {
      failRequest(error, { request, response }, context);
    }
  };

  return (request, response) => {
    const target = splitTarget(request.url ?? '');
    const context = begin(request, response, target ?? { path: '', query: '', text: '' });
    const problem = target === null ? 'The request target is not valid.' : messageProblem(request);
    // Node loses what came behind a request that asks for another protocol.
    if (problem !== null || request.headers.upgrade !== undefined) response.setHeader('connection', 'close');
    if (target === null || problem !== null) {
      const error = new ServiceError('invalid_request', problem ?? 'The request is not valid.');
      failRequest(error, { request, response }, context);
      return;
    }
    if (target.path.startsWith(cdnPrefix)) {
      if (tokens === null) cdn.handle(request, response, target.text);
      else void serveBytes(request, response, context);
      return;
    }
    if (isDashboardPath(target.path)) {
      void dashboard.handle(request, response, context);
      return;
    }
    if (isAdminPath(target.path)) {
      admin.handle(request, response, context);
      return;
    }
    const probe = probes.get(target.path);
    if (probe !== undefined) {
      void answerPublicRoute(probe, { request, response }, context, null);
      return;
    }
    if (!isWellEncoded(target.path)) {
      failRequest(badEncoding('path'), { request, response }, context);
      return;
    }
    if (target.path === '*') {
      void sendAnswer(request, response, { status: 204, headers: { allow: PUBLIC_METHODS }, body: [] });
      return;
    }
    // Express matches on the path and must not see an authority.
    request.url = target.text;
    contexts.set(request, context);
    response.setHeader('x-request-id', context.requestId);
    app(request, response);
  };
}

function createExpress(
  routes: readonly PublicRoute[],
  contexts: WeakMap<IncomingMessage, RequestContext>,
  tokens: TokenVerifier | null,
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', 'simple');
  for (const route of routes) {
    app.all(route.path, (request, response) => {
      void answerPublicRoute(route, { request, response }, contextOf(contexts, request), tokens);
    });
  }
  app.use((request, response) => {
    const error = new ServiceError(
      'not_found',
      'Nothing is served under this path; /openapi.yaml lists every route.',
    );
    failRequest(error, { request, response }, contextOf(contexts, request));
  });
  // Express tells error handlers from others by their four parameters.
  app.use(
    (error: unknown, request: express.Request, response: express.Response, _next: express.NextFunction) => {
      failRequest(error, { request, response }, contextOf(contexts, request));
    },
  );
  return app;
}

function contextOf(
  contexts: WeakMap<IncomingMessage, RequestContext>,
  request: IncomingMessage,
): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error('a request reached Express without its context');
  return context;
}
