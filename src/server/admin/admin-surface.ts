import type { IncomingMessage, ServerResponse } from 'node:http';

import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { renderProblem } from '../../platform/http/problem.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';
import type { Answer } from '../http/answer.ts';
import type { RequestContext } from '../http/public-route.ts';
import { sendAnswer } from '../http/send-answer.ts';
import type { TokenVerifier } from '../http/token-verifier.ts';
import { createAdminGate, type AdminVisitor } from './admin-gate.ts';
import type { AdminMetrics } from './admin-metrics.ts';
import { adminAnswer, adminProblem, checkAdminQuery, createAdminReads } from './admin-reads.ts';
import { findAdminRoute, type AdminRoute } from './admin-routes.ts';
import { beginControlAudit, createControlAuditLog } from './control-audit.ts';
import { createControlRoute } from './control-route.ts';
import type { ReportForwarder } from './reports/report-forwarder.ts';

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
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** Makes the admin surface: it stands beside Express, so that no body is parsed and no path rewritten on the way. */
export function createAdminSurface(options: AdminSurfaceOptions): AdminSurface {
  const { metrics, clock, logger, publicBaseUrl } = options;
  const gate = createAdminGate({ tokens: options.tokens, metrics, clock, logger });
  const answerRead = createAdminReads({ ...options, gate });
  const answerControl = createControlRoute({
    gate,
    client: options.client,
    metrics,
    clock,
    exposed: options.exposeControl,
    publicBaseUrl,
  });
  const writeAudit = createControlAuditLog(logger);

  const answerAudited = async (action: string, { request, context }: AdminRequest): Promise<Answer> => {
    const { requestId, target } = context;
    const query = new URLSearchParams(target.query);
    const audit = beginControlAudit();
    try {
      const checkQuery = (): void => {
        checkAdminQuery(ADMIN_OPERATIONS.postControl, query, target.query);
      };
      const visitor = { ...visitorOf(request), query };
      const answer = await answerControl({ request, visitor, action, requestId, checkQuery, audit });
      writeAudit(audit, { status: answer.status, code: null, requestId });
      return answer;
    } catch (error) {
      const { status, code } = renderProblem(error, requestId);
      writeAudit(audit, { status, code, requestId });
      throw error;
    }
  };

  const answerRequest = async (route: AdminRoute | null, exchange: AdminRequest): Promise<Answer> => {
    const { request, context, signal } = exchange;
    if (route === null) {
      throw new ServiceError('not_found', 'Nothing is served under this path; /admin/ lists every read.');
    }
    if (!route.methods.split(', ').includes(request.method ?? '')) {
      throw new ServiceError('method_not_allowed', `${route.template} answers ${route.methods}.`);
    }
    if (route.kind === 'control') return await answerAudited(route.action, exchange);
    return await answerRead({
      route,
      query: context.target.query,
      ...visitorOf(request),
      hasBody: hasBody(request),
      via: request.headers.via,
      httpVersion: request.httpVersion,
      requestId: context.requestId,
      signal,
    });
  };

  const answer = async (route: AdminRoute | null, exchange: AdminRequest): Promise<void> => {
    const { request, response, context, signal } = exchange;
    const { requestId } = context;
    let result: Answer;
    try {
      result = adminAnswer(await answerRequest(route, exchange), requestId);
    } catch (error) {
      if (signal.aborted) return;
      context.onError(error);
      result = adminProblem(error, requestId, route?.methods ?? null);
    }
    if (response.destroyed) return;
    try {
      await sendAnswer(request, response, result, signal);
    } catch (error) {
      context.onError(error);
      response.destroy();
    }
  };

  return {
    handle: (request, response, context) => {
      const gone = new AbortController();
      response.once('close', () => {
        // A complete answer needs no abort, which costs an error with its stack.
        if (!response.writableFinished) gone.abort();
      });
      void answer(findAdminRoute(context.target.path), { request, response, context, signal: gone.signal });
    },
  };
}

/** Who sent a request. */
function visitorOf(request: IncomingMessage): Omit<AdminVisitor, 'query'> {
  return {
    authorization: request.headersDistinct['authorization'] ?? [],
    source: request.socket.remoteAddress ?? 'unknown',
  };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}
