import type { IncomingMessage, ServerResponse } from 'node:http';

import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SecretMask } from '../../platform/logging/secret-mask.ts';
import type { ServerHistory } from '../history/server-history.ts';
import type { DaemonPresence } from '../daemon-client/daemon-presence.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';
import type { Answer } from '../http/answer.ts';
import type { RequestContext } from '../http/public-route.ts';
import { sendAnswer } from '../http/send-answer.ts';
import type { TokenVerifier } from '../http/token-verifier.ts';
import { createAdminGate, type AdminVisitor } from './admin-gate.ts';
import type { AdminMetrics } from './admin-metrics.ts';
import { adminAnswer, adminProblem, createAdminReads } from './admin-reads.ts';
import { findAdminRoute, type AdminRoute } from './admin-routes.ts';
import { createControlRoute } from './control-route.ts';
import type { AddServerChecks } from './reports/server-checks.ts';
import type { ReportForwarder } from './reports/report-forwarder.ts';

/** The authenticated admin operations. */
export interface AdminSurface {
  /** Answers one request whose path is under `/admin`; never throws. */
  handle(request: IncomingMessage, response: ServerResponse, context: RequestContext): void;
}

/** Settings and collaborators of the admin surface. */
export interface AdminSurfaceOptions {
  readonly tokens: TokenVerifier;
  readonly client: Pick<DaemonClient, 'postControl'>;
  readonly forwarder: ReportForwarder;
  readonly presence: DaemonPresence;
  readonly addServerChecks: AddServerChecks;
  readonly metrics: AdminMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Masks the tokens in requests to the daemon. */
  readonly secrets: Pick<SecretMask, 'mask'>;
  readonly exposeControl: boolean;
  readonly publicBaseUrl: string;
  readonly history: Pick<ServerHistory, 'read' | 'scrub'>;
  /** Version of the program. */
  readonly version: string;
  /** Of this machine or pod. */
  readonly hostName: string;
}

/** One request and its response. */
interface AdminRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: RequestContext;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Makes the admin surface. It does not use Express, which would parse bodies and rewrite paths. */
export function createAdminSurface(options: AdminSurfaceOptions): AdminSurface {
  const { metrics, clock, logger } = options;
  const gate = createAdminGate({ tokens: options.tokens, metrics, clock, logger });
  const answerRead = createAdminReads({ ...options, gate });
  const answerControl = createControlRoute({
    gate,
    client: options.client,
    presence: options.presence,
    metrics,
    clock,
    logger,
    secrets: options.secrets,
    exposed: options.exposeControl,
    publicBaseUrl: options.publicBaseUrl,
  });

  const answerRequest = async (route: AdminRoute | null, exchange: AdminRequest): Promise<Answer> => {
    const { request, response, context, signal } = exchange;
    if (route === null) {
      throw new ServiceError('not_found', 'Nothing is served under this path; /admin/ lists every read.');
    }
    if (!route.methods.split(', ').includes(request.method ?? '')) {
      throw new ServiceError('method_not_allowed', `${route.template} supports ${route.methods}.`);
    }
    const call = {
      request,
      ...visitorOf(request),
      response,
      query: context.target.query,
      // The daemon records it.
      requestId: options.secrets.mask(context.requestId),
    };
    if (route.kind === 'control') return await answerControl({ ...call, action: route.action });
    return await answerRead({ ...call, route, signal });
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
      result = adminProblem(error, context, route?.methods ?? null);
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
        // An abort costs an error with its stack, and a complete answer does not need it.
        if (!response.writableFinished) gone.abort();
      });
      void answer(findAdminRoute(context.target.path), { request, response, context, signal: gone.signal });
    },
  };
}

function visitorOf(request: IncomingMessage): Omit<AdminVisitor, 'query' | 'response'> {
  return {
    authorization: request.headersDistinct['authorization'] ?? [],
    source: request.socket.remoteAddress ?? 'unknown',
  };
}
