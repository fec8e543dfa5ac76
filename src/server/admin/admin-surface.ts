import type { IncomingMessage, ServerResponse } from 'node:http';

import type { OperationDefinition } from '../../contract/operation-definition.ts';
import { ADMIN_OPERATIONS } from '../../contract/operations-admin.ts';
import { parseQuery } from '../../contract/query-parser.ts';
import { ServiceError } from '../../contract/service-error.ts';
import type { Clock } from '../../platform/clock.ts';
import { renderProblem, sendProblem } from '../../platform/http/problem.ts';
import type { Logger } from '../../platform/logging.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';
import { jsonAnswer, NO_STORE, type Answer } from '../http/answer.ts';
import { badEncoding, type RequestContext } from '../http/public-route.ts';
import { isWellEncoded } from '../http/request-target.ts';
import { sendAnswer } from '../http/send-answer.ts';
import type { TokenVerifier } from '../http/token-verifier.ts';
import { createAdminGate } from './admin-gate.ts';
import { renderAdminIndex } from './admin-index.ts';
import type { AdminMetrics } from './admin-metrics.ts';
import { findAdminRoute, READ_OPERATIONS, type AdminRoute } from './admin-routes.ts';
import { beginControlAudit, createControlAuditLog } from './control-audit.ts';
import { createControlRoute } from './control-route.ts';
import type { ReportForwarder } from './report-forwarder.ts';
import { createReportRoute } from './report-route.ts';

/** Headers of every answer under `/admin`. */
const ADMIN_HEADERS = {
  'cache-control': NO_STORE,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/** The authenticated admin operations. */
export interface AdminSurface {
  /** Answers one request whose path is under `/admin`; never throws. */
  handle(request: IncomingMessage, response: ServerResponse, context: RequestContext): void;
}

/** What {@link createAdminSurface} needs. */
export interface AdminSurfaceOptions {
  readonly tokens: TokenVerifier;
  readonly client: Pick<DaemonClient, 'postControl'>;
  readonly forwarder: ReportForwarder;
  readonly metrics: AdminMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly exposeControl: boolean;
  readonly publicBaseUrl: string;
  /** Of the program. */
  readonly version: string;
}

/** One request on its way through the surface. */
interface AdminRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: RequestContext;
  readonly query: URLSearchParams;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** Makes the admin surface: it stands beside Express, so that no body is parsed and no path rewritten on the way. */
export function createAdminSurface(options: AdminSurfaceOptions): AdminSurface {
  const { metrics, clock, logger, publicBaseUrl } = options;
  const gate = createAdminGate({ tokens: options.tokens, metrics, clock, logger });
  const answerReport = createReportRoute({ forwarder: options.forwarder, metrics, clock });
  const answerControl = createControlRoute({
    gate,
    client: options.client,
    metrics,
    clock,
    exposed: options.exposeControl,
    publicBaseUrl,
  });
  const writeAudit = createControlAuditLog(logger);
  const index = renderAdminIndex(READ_OPERATIONS, {
    exposed: options.exposeControl,
    version: options.version,
  });

  const answerRead = async (
    route: Exclude<AdminRoute, { kind: 'control' }>,
    { request, query, context, signal }: AdminRequest,
  ): Promise<Answer> => {
    await gate.admit(request, query, 'read');
    refuseBody(request);
    if (route.kind === 'index') {
      checkQuery(ADMIN_OPERATIONS.getAdminIndex, query, context);
      return jsonAnswer(index, { cacheControl: NO_STORE });
    }
    const values = checkQuery(route.operation, query, context);
    return await answerReport({
      request,
      report: route.report,
      query: values,
      requestId: context.requestId,
      signal,
    });
  };

  const answerAudited = async (action: string, exchange: AdminRequest): Promise<Answer> => {
    const { request, query, context } = exchange;
    const { requestId } = context;
    const audit = beginControlAudit();
    try {
      const checkControlQuery = (): void => {
        checkQuery(ADMIN_OPERATIONS.postControl, query, context);
      };
      const answer = await answerControl({
        request,
        action,
        query,
        requestId,
        checkQuery: checkControlQuery,
        audit,
      });
      writeAudit(audit, { status: answer.status, code: null, requestId });
      return answer;
    } catch (error) {
      const { status, code } = renderProblem(error, requestId);
      writeAudit(audit, { status, code, requestId });
      throw error;
    }
  };

  const answer = async (route: AdminRoute | null, exchange: AdminRequest): Promise<void> => {
    const { request, response, context, signal } = exchange;
    for (const [name, value] of Object.entries(ADMIN_HEADERS)) response.setHeader(name, value);
    response.setHeader('x-request-id', context.requestId);
    try {
      if (route === null) {
        throw new ServiceError('not_found', 'Nothing is served under this path; /admin/ lists every read.');
      }
      if (!route.methods.split(', ').includes(request.method ?? '')) {
        throw new ServiceError('method_not_allowed', `${route.template} answers ${route.methods}.`);
      }
      const result =
        route.kind === 'control'
          ? await answerAudited(route.action, exchange)
          : await answerRead(route, exchange);
      if (!response.destroyed) await sendAnswer(request, response, result, signal);
    } catch (error) {
      if (signal.aborted) return;
      context.onError(error);
      const allow = isMethodError(error) && route !== null ? { allow: route.methods } : {};
      const problem = renderProblem(error, context.requestId, allow);
      sendProblem(Object.assign(response, { req: request }), problem);
    }
  };

  return {
    handle: (request, response, context) => {
      const gone = new AbortController();
      response.once('close', () => {
        // A complete answer needs no abort, which costs an error with its stack.
        if (!response.writableFinished) gone.abort();
      });
      void answer(findAdminRoute(context.target.path), {
        request,
        response,
        context,
        query: new URLSearchParams(context.target.query),
        signal: gone.signal,
      });
    },
  };
}

function isMethodError(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'method_not_allowed';
}

/** Nothing reads the body of a GET, so one that has any is not what its sender thinks it is. */
function refuseBody({ headers }: IncomingMessage): void {
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return;
  throw new ServiceError('invalid_request', 'Reads have no body; send the parameters in the query.');
}

/** The parsed query of an operation; the token is not part of it. */
function checkQuery(
  operation: Pick<OperationDefinition, 'query'>,
  parameters: URLSearchParams,
  { target }: RequestContext,
): Readonly<Record<string, unknown>> {
  if (!isWellEncoded(target.query)) throw badEncoding('query');
  const query = parseQuery(operation.query, parameters);
  if (query.ok) return query.value;
  throw new ServiceError('invalid_request', 'The query is not valid; "errors" names each parameter.', {
    errors: query.error,
  });
}
