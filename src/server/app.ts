import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

import express, { type Express, type NextFunction, type Router } from 'express';

import { listOperations } from '../contract/operations/operations.ts';
import { PUBLIC_OPERATIONS } from '../contract/operations/operations-public.ts';
import { publicRunbooks } from '../contract/problems/problem-links.ts';
import { ServiceError } from '../contract/problems/service-error.ts';
import { messageProblem } from '../platform/http/message-rules.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { receiveTrace, withTrace } from '../platform/logging/trace.ts';
import { requestId } from '../platform/process/ids.ts';
import { adminTemplateOf, isAdminPath } from './admin/admin-paths.ts';
import type { BytePathHandler } from './bytes/byte-path-handler.ts';
import { CONSOLE_PATH, isConsolePath } from './console/console-router.ts';
import { addCorsFields, type Cors } from './http/cors.ts';
import { contextOf, failRequest, setContext, type Exchange, type RequestContext } from './http/exchange.ts';
import type { ObservedRequest } from './http/observe-request.ts';
import { requireToken } from './http/public-route.ts';
import { splitTarget, withPlainHost, type RequestTarget } from './http/request-target.ts';
import type { TokenVerifier } from './http/token-verifier.ts';

interface ServerAppOptions {
  readonly bytePath: BytePathHandler;
  readonly cdnHost: string;
  /** The router of each surface, in the order in which they are asked. */
  readonly surfaces: readonly Router[];
  /** Checks tokens of requests for bytes, `null` where these are open. */
  readonly tokens: TokenVerifier | null;
  readonly cors: Cors;
  readonly runbooks: string;
  readonly createRequestId: () => string;
  readonly createSpanId: () => string;
  readonly observe: (observed: ObservedRequest) => void;
  readonly logger: Logger;
}

const NO_ROUTE = 'none';

/** Paths of the reads that pages of other origins may make, besides those of resource bytes. */
const READS_PREFIX = '/v1/';

/** The route label of resource bytes. */
export const CDN_ROUTE = PUBLIC_OPERATIONS.getResource.path;

const PATHS: ReadonlySet<string> = new Set(
  listOperations().flatMap(({ path }) => (path.includes('{') ? [] : [path])),
);

/**
 * Makes the request listener. It gives each request its id and context, and decides: resource bytes, which the byte path
 * sends, or Express.
 */
export function createServerApp(options: ServerAppOptions): RequestListener {
  const app = createExpress(options.surfaces);
  const cdnPrefix = `/${options.cdnHost}/`;

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = { request, response };
    const received = splitTarget(request.url ?? '');
    const target = received === null ? null : withPlainHost(received, options.cdnHost);
    const context = begin(options, exchange, target ?? { path: '', query: '', text: '' });
    const { path, text } = context.target;
    const isCdn = path.startsWith(cdnPrefix);
    if (isCdn || path.startsWith(READS_PREFIX)) addCorsFields(options.cors, request, response);
    const problem = target === null ? 'The request target is not valid.' : messageProblem(request);
    // Node loses the bytes that follow a request for another protocol.
    if (problem !== null || request.headers.upgrade !== undefined) response.setHeader('connection', 'close');
    if (problem !== null) {
      failRequest(new ServiceError('invalid_request', problem), exchange, context);
    } else if (isCdn) {
      void sendBytes(options, exchange, context);
    } else {
      // Express matches the path and must not see an authority.
      request.url = text;
      setContext(request, context);
      response.setHeader('x-request-id', context.requestId);
      app(request, response);
    }
  };

  return (request, response) => {
    const { traceparent, tracestate } = request.headers;
    const trace = receiveTrace({ traceparent, tracestate }, options.createSpanId);
    if (trace === null) answer(request, response);
    else withTrace(trace, () => answer(request, response));
  };
}

function begin(
  { cdnHost, runbooks, createRequestId, observe, logger }: ServerAppOptions,
  { request, response }: Exchange,
  target: RequestTarget,
): RequestContext {
  const id = requestId(request.headers['x-request-id'], createRequestId);
  const route = routeOf(target.path, cdnHost);
  observe({ request, response, route, requestId: id });
  // Later readers of the header must get this id.
  request.headers['x-request-id'] = id;
  return {
    requestId: id,
    target,
    runbooks: isAdminPath(target.path) ? runbooks : publicRunbooks(runbooks),
    onError: (error) => {
      logFailure(logger, error, { route, request_id: id });
    },
  };
}

/** The template of the operation that a path names, for logs and metrics. */
function routeOf(path: string, cdnHost: string): string {
  if (path.startsWith(`/${cdnHost}/`)) return CDN_ROUTE;
  if (isConsolePath(path)) return CONSOLE_PATH;
  return PATHS.has(path) ? path : (adminTemplateOf(path) ?? NO_ROUTE);
}

/** Logs why a request failed: at level error if it is this service's fault, at debug if it was rejected. */
function logFailure(
  logger: Logger,
  error: unknown,
  fields: { readonly route: string; readonly request_id: string },
): void {
  if (!(error instanceof ServiceError) || error.code === 'internal_error') {
    const internal = error instanceof ServiceError ? error.options.internal : undefined;
    logger.error({ ...fields, err: error, internal }, 'request failed');
    return;
  }
  const { reason, internal } = error.options;
  logger.debug({ ...fields, code: error.code, reason, internal }, 'request refused');
}

async function sendBytes(
  { bytePath, tokens }: ServerAppOptions,
  { request, response }: Exchange,
  context: RequestContext,
): Promise<void> {
  const { query, text } = context.target;
  // A preflight has no token, and its answer reveals nothing.
  if (tokens !== null && request.method !== 'OPTIONS') {
    try {
      await requireToken(tokens, { request, response }, new URLSearchParams(query));
    } catch (error) {
      failRequest(error, { request, response }, context);
      return;
    }
  }
  bytePath.handle(request, response, text);
}

function createExpress(surfaces: readonly Router[]): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  for (const surface of surfaces) app.use(surface);
  app.use(() => {
    throw new ServiceError(
      'not_found',
      'Nothing is served under this path; /openapi.yaml lists every route.',
    );
  });
  // Express recognizes error handlers by their four parameters.
  app.use((error: unknown, request: IncomingMessage, response: ServerResponse, _next: NextFunction) => {
    failRequest(error, { request, response }, contextOf(request));
  });
  return app;
}
