import type { IncomingMessage, ServerResponse } from 'node:http';

import express, { type Express } from 'express';

import { PUBLIC_OPERATIONS } from '../contract/operations/operations-public.ts';
import { ServiceError } from '../contract/problems/service-error.ts';
import { receiveTrace, withTrace } from '../platform/logging/trace.ts';
import { requestId } from '../platform/process/ids.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { findAdminRoute, isAdminPath } from './admin/admin-routes.ts';
import type { AdminSurface } from './admin/admin-surface.ts';
import type { CdnHandler } from './bytes/cdn-handler.ts';
import { addCorsFields, type Cors } from './http/cors.ts';
import { CONSOLE_PATH, isConsolePath, type ConsoleRoute } from './console/console-route.ts';
import { logFailure } from './http/log-failure.ts';
import { messageProblem } from '../platform/http/message-rules.ts';
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
import { isWellEncoded, splitTarget, withPlainHost, type RequestTarget } from './http/request-target.ts';
import { sendAnswer } from './http/send-answer.ts';
import type { TokenVerifier } from './http/token-verifier.ts';

export interface ServerAppOptions {
  readonly routes: readonly PublicRoute[];
  readonly cdn: CdnHandler;
  readonly cdnHost: string;
  readonly admin: AdminSurface;
  readonly consoleRoute: ConsoleRoute;
  /** Checks tokens on public routes, `null` where these are open. */
  readonly tokens: TokenVerifier | null;
  readonly cors: Cors;
  /** Address of the runbooks, which problems with a reason link to. */
  readonly runbooks: string;
  readonly createRequestId: () => string;
  readonly createSpanId: () => string;
  readonly observe: (observed: ObservedRequest) => void;
  readonly logger: Logger;
}

/** The route label of requests that match nothing. */
const NO_ROUTE = 'none';

/** Paths of the reads that pages of other origins may make, besides those of resource bytes. */
const READS_PREFIX = '/v1/';

/** The route label of resource bytes. */
export const CDN_ROUTE = PUBLIC_OPERATIONS.getResource.path;

/**
 * Makes the request listener. It answers probes, resource bytes, the console and the admin surface itself; everything
 * else goes through Express.
 */
export function createServerApp(
  options: ServerAppOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const contexts = new WeakMap<IncomingMessage, RequestContext>();
  const app = createExpress(options.routes, contexts, options.tokens);
  const begin = createBegin(options);
  const answerInFront = createFrontAnswers(options);
  const cdnPrefix = `/${options.cdnHost}/`;

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const received = splitTarget(request.url ?? '');
    const target = received === null ? null : withPlainHost(received, options.cdnHost);
    const context = begin({ request, response }, target ?? { path: '', query: '', text: '' });
    const { path } = context.target;
    if (path.startsWith(cdnPrefix) || path.startsWith(READS_PREFIX)) {
      addCorsFields(options.cors, request, response);
    }
    const problem = target === null ? 'The request target is not valid.' : messageProblem(request);
    // Node loses the bytes that follow a request for another protocol.
    if (problem !== null || request.headers.upgrade !== undefined) response.setHeader('connection', 'close');
    if (target === null || problem !== null) {
      const error = new ServiceError('invalid_request', problem ?? 'The request is not valid.');
      failRequest(error, { request, response }, context);
      return;
    }
    if (answerInFront({ request, response }, context)) return;
    // Express matches the path and must not see an authority.
    request.url = target.text;
    contexts.set(request, context);
    response.setHeader('x-request-id', context.requestId);
    app(request, response);
  };

  return (request, response) => {
    const { traceparent, tracestate } = request.headers;
    const trace = receiveTrace({ traceparent, tracestate }, options.createSpanId);
    if (trace === null) answer(request, response);
    else {
      withTrace(trace, () => {
        answer(request, response);
      });
    }
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Makes the function that determines the route and the id of a request and has the request observed. */
function createBegin({
  routes,
  cdnHost,
  runbooks,
  createRequestId,
  observe,
  logger,
}: ServerAppOptions): (exchange: Exchange, target: RequestTarget) => RequestContext {
  const paths = new Set<string>(routes.map(({ path }) => path));

  const routeOf = (path: string): string => {
    if (path.startsWith(`/${cdnHost}/`)) return CDN_ROUTE;
    if (isConsolePath(path)) return CONSOLE_PATH;
    return paths.has(path) ? path : (findAdminRoute(path)?.template ?? NO_ROUTE);
  };

  return ({ request, response }, target) => {
    const id = requestId(request.headers['x-request-id'], createRequestId);
    const route = routeOf(target.path);
    observe({ request, response, route, requestId: id });
    // Later readers of the header must get this id.
    request.headers['x-request-id'] = id;
    return {
      requestId: id,
      target,
      runbooks,
      onError: (error) => {
        logFailure(logger, error, { route, request_id: id });
      },
    };
  };
}

/** Makes the function that answers a request before Express; it returns false when Express must answer. */
function createFrontAnswers({
  routes,
  cdn,
  cdnHost,
  admin,
  consoleRoute,
  tokens,
}: ServerAppOptions): (exchange: Exchange, context: RequestContext) => boolean {
  const cdnPrefix = `/${cdnHost}/`;
  const { getHealth, getReadiness } = PUBLIC_OPERATIONS;
  const probePaths = new Set<string>([getHealth.path, getReadiness.path]);
  const probes = new Map(
    routes.filter(({ path }) => probePaths.has(path)).map((route) => [route.path, route]),
  );

  const serveBytes = async ({ request, response }: Exchange, context: RequestContext): Promise<void> => {
    try {
      await requireToken(tokens, { request, response }, new URLSearchParams(context.target.query));
      cdn.handle(request, response, context.target.text);
    } catch (error) {
      failRequest(error, { request, response }, context);
    }
  };

  return (exchange, context) => {
    const { request, response } = exchange;
    const { path, text } = context.target;
    const probe = probes.get(path);
    if (path.startsWith(cdnPrefix)) {
      // A preflight has no token, and tells nothing.
      if (tokens === null || request.method === 'OPTIONS') cdn.handle(request, response, text);
      else void serveBytes(exchange, context);
    } else if (isConsolePath(path)) {
      void consoleRoute.handle(request, response, context);
    } else if (isAdminPath(path)) {
      admin.handle(request, response, context);
    } else if (probe !== undefined) {
      void answerPublicRoute(probe, exchange, context, null);
    } else if (!isWellEncoded(path)) {
      failRequest(badEncoding('path'), exchange, context);
    } else if (path === '*') {
      void sendAnswer(request, response, { status: 204, headers: { allow: PUBLIC_METHODS }, body: [] });
    } else {
      return false;
    }
    return true;
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
  // Express recognizes error handlers by their four parameters.
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
