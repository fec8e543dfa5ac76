import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { listen, type ListenAddress, type Listening } from '../../platform/http/listen.ts';
import { renderProblem, sendProblem, type RenderedProblem } from '../../platform/http/problem.ts';
import { requestId as requestIdOf } from '../../platform/process/ids.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { renderActionProblem } from './action-errors.ts';
import { jsonAnswer, sendAnswer, type ApiAnswer, type ApiRequest } from './api-answer.ts';
import { answerAttestation } from './attestation-route.ts';
import { answerControl } from './control-route.ts';
import { answerDamage } from './damage-route.ts';
import type { ActionHandler, AttestationSource, DamageIntake, ReportHandler } from './ports.ts';
import { answerReport } from './report-route.ts';
import { readRequestBody } from './request-body.ts';
import { parseTarget, ROUTE_METHODS, type ApiRoute } from './routes.ts';
import { createTokenCheck } from './token-check.ts';

/** What {@link createDaemonApi} needs. */
export interface DaemonApiDependencies {
  readonly reports: ReadonlyMap<string, ReportHandler>;
  readonly actions: ReadonlyMap<string, ActionHandler>;
  readonly attestation: AttestationSource;
  readonly damage: DamageIntake;
  /** Whether reports and actions can be answered; before, everything but health answers 503. */
  readonly readiness: () => { readonly ready: boolean; readonly message: string };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  readonly bootId: string;
  /** Makes request ids. */
  readonly createId: () => string;
  /** File with the token that callers must send now; `null` when none is asked for. */
  readonly tokenFile: () => string | null;
}

/** The loopback API of the daemon. */
export interface DaemonApi {
  /** @throws ListenError */
  listen(address: ListenAddress): Promise<Listening>;
  /** Ends long polls, stops accepting, and waits for requests under way until the signal is aborted. */
  close(signal?: AbortSignal): Promise<void>;
}

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 75_000;
const MAX_CONNECTIONS = 256;
/** Longest that a report or an action may work on its answer; a long poll is bounded by its own wait. */
const HANDLER_TIMEOUT_MS = 60_000;

/** Creates the API; it accepts nothing before `listen`. */
export function createDaemonApi(deps: DaemonApiDependencies): DaemonApi {
  const { logger, clock } = deps;
  const startedAt = clock.monotonic();
  const stopping = new AbortController();
  const isAuthorized = createTokenCheck(deps.tokenFile, logger);
  const server = createApiServer();
  let listening: Listening | null = null;

  const answer = async (route: ApiRoute, request: ApiRequest): Promise<ApiAnswer> => {
    switch (route.kind) {
      case 'health':
        return jsonAnswer(200, {
          status: 'ok',
          version: deps.version,
          boot_id: deps.bootId,
          uptime_seconds: Math.floor((clock.monotonic() - startedAt) / 1000),
        });
      case 'readiness': {
        const readiness = deps.readiness();
        return jsonAnswer(readiness.ready ? 200 : 503, readiness);
      }
      case 'attestation':
        return await answerAttestation(deps.attestation, request);
      case 'damage':
        return await answerDamage(deps.damage, request);
      case 'report':
        return await answerReport(deps, route.name, request);
      case 'control':
        return await answerControl(deps, route.name, request);
    }
  };

  /** Throws what keeps a request from its route. */
  const admit = async (route: ApiRoute | null, message: IncomingMessage): Promise<ApiRoute> => {
    const open = route?.kind === 'health' || route?.kind === 'readiness';
    if (!open && !(await isAuthorized(message.headers.authorization))) {
      throw new ServiceError('not_authenticated', 'send the shared token as "Authorization: Bearer <token>"');
    }
    // A page of another site can make a browser post here; it cannot take this header away.
    if (message.headers['sec-fetch-site'] === 'cross-site') {
      throw new ServiceError('control_forbidden', 'requests from pages of other sites are not answered');
    }
    if (route === null) throw new ServiceError('not_found', 'nothing is served under this path');
    if (!ROUTE_METHODS[route.kind].includes(message.method ?? '')) {
      throw new ServiceError('method_not_allowed', `use ${ROUTE_METHODS[route.kind].join(' or ')}`);
    }
    const readiness = deps.readiness();
    if (!open && !readiness.ready) {
      throw new ServiceError('backend_unavailable', `the daemon is not ready: ${readiness.message}`, {
        retryAfter: 1,
      });
    }
    return route;
  };

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = requestIdOf(message.headers['x-request-id'], deps.createId);
    const { route, query } = parseTarget(message.url ?? '/');
    response.setHeader('x-request-id', requestId);
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the caller went away')));
    const signals = [gone.signal, stopping.signal];
    if (route?.kind !== 'attestation') signals.push(AbortSignal.timeout(HANDLER_TIMEOUT_MS));
    try {
      const admitted = await admit(route, message);
      const request: ApiRequest = {
        headers: message.headers,
        query,
        requestId,
        signal: AbortSignal.any(signals),
        readBody: async () => await readRequestBody(message),
      };
      const result = await answer(admitted, request);
      if (response.destroyed) return;
      sendAnswer(response, result, message.method === 'HEAD');
    } catch (error) {
      refuse(response, route, error, requestId);
    }
  };

  const refuse = (
    response: ServerResponse,
    route: ApiRoute | null,
    error: unknown,
    requestId: string,
  ): void => {
    if (response.destroyed) return;
    const problem = renderRefusal(route, error, requestId);
    const { code, status, internal } = problem;
    logger[problem.logLevel](
      { request_id: requestId, route: route?.kind, code, status, internal },
      'request refused',
    );
    sendProblem(response, problem);
  };

  server.on('request', (message, response) => {
    void handle(message, response);
  });

  return {
    listen: async (address) => {
      listening = await listen(server, address);
      return listening;
    },
    close: async (signal) => {
      stopping.abort(new Error('the daemon is stopping'));
      await listening?.close(signal);
    },
  };
}

function renderRefusal(route: ApiRoute | null, error: unknown, requestId: string): RenderedProblem {
  if (route?.kind === 'control') {
    const problem = renderActionProblem(error, requestId);
    return problem.code === 'method_not_allowed' ? withAllow(problem, route) : problem;
  }
  const problem = renderProblem(error, requestId);
  return route !== null && problem.code === 'method_not_allowed' ? withAllow(problem, route) : problem;
}

function withAllow(problem: RenderedProblem, route: ApiRoute): RenderedProblem {
  return { ...problem, headers: { ...problem.headers, allow: ROUTE_METHODS[route.kind].join(', ') } };
}

function createApiServer(): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 5000,
    requireHostHeader: true,
  });
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}
