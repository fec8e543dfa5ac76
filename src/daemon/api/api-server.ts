import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { messageProblem } from '../../platform/http/message-rules.ts';
import { type ListenAddress, type Listening, listen } from '../../platform/http/listen.ts';
import { type RenderedProblem, renderProblem, sendProblem } from '../../platform/http/problem.ts';
import { receiveTrace, withTrace } from '../../platform/logging/trace.ts';
import { requestId as requestIdOf } from '../../platform/process/ids.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SecretMask } from '../../platform/logging/secret-mask.ts';
import { renderActionProblem } from './action-errors.ts';
import { type ApiAnswer, type ApiRequest, jsonAnswer, sendAnswer } from './api-answer.ts';
import { answerAttestation } from './attestation-route.ts';
import { type ConditionSource, type ConditionState, renderConditionHeaders } from './condition-source.ts';
import type { AttestationSource } from '../../releases/attest/attestor.ts';
import { answerControl } from './control-route.ts';
import type { DefinedAction } from '../../engine/define-action.ts';
import type { DefinedReport } from '../../engine/define-report.ts';
import type { ReportDamage } from '../../releases/checks/damage-reports.ts';
import { answerDamage } from './damage-route.ts';
import { readReport } from './report-route.ts';
import { type NameFolders, namesNoPaths } from './folder-names.ts';
import { readJsonBody } from '../../platform/http/json-body.ts';
import { createTokenCheck, refuseBrowserPages } from './token-check.ts';
import { type ApiRoute, ROUTE_METHODS, parseTarget } from './routes.ts';
import type { Socket } from 'node:net';

/** The routes behind the API: few while the daemon is a standby, all of them after that. */
export interface ApiSurface {
  /** Keyed by name. A report of the contract that is missing here is unavailable. */
  readonly reports: ReadonlyMap<string, DefinedReport>;
  /** Keyed by name. An action of the contract that is missing here is not implemented. */
  readonly actions: ReadonlyMap<string, DefinedAction>;
  readonly attestation: AttestationSource;
  readonly conditions: ConditionSource;
  readonly reportDamage: ReportDamage;
}

export interface DaemonApiOptions {
  /** The routes of this moment. */
  readonly surface: () => ApiSurface;
  readonly version: string;
  readonly bootId: string;
  /** Whether reports and actions can be answered. Until then every request except those that explain it gets 503. */
  readonly readiness: () => DaemonReadiness;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly createId: () => string;
  readonly createSpanId: () => string;
  /** Returns the path of the file with the current token; `null` when callers need no token. */
  readonly tokenFile: () => string | null;
  /** Masks the tokens in logs, and in the text of callers that is recorded. */
  readonly secrets: SecretMask;
  /** Returns the hosts that callers may use besides those of loopback. */
  readonly allowedHosts: () => readonly string[];
  /** Takes the configured paths out of messages for callers. */
  readonly nameFolders: () => NameFolders;
}

/** Whether the daemon is ready. */
export interface DaemonReadiness {
  readonly ready: boolean;
  readonly message: string;
  /** The daemon that a standby waits for, and why. */
  readonly waitingFor?: string;
}

/** The loopback API of the daemon. */
export interface DaemonApi {
  /** @throws ListenError */
  listen(address: ListenAddress): Promise<Listening>;
  /** Ends long polls, stops accepting, and waits for requests in progress until the signal is aborted. */
  close(signal?: AbortSignal): Promise<void>;
}

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 75_000;
const MAX_CONNECTIONS = 256;
/** Reports that explain why a daemon is not ready. */
const EARLY_REPORTS: ReadonlySet<string> = new Set(['daemon.doctor', 'daemon.logs']);
/** Longest that a report may work on its answer. A long poll is bounded by its own wait, an action by that of its task. */
const HANDLER_TIMEOUT_MS = 60_000;

/** Creates the API; it accepts nothing before `listen`. */
export function createDaemonApi(options: DaemonApiOptions): DaemonApi {
  const stopping = new AbortController();
  const answer = createRouter(options);
  const server = createApiServer();
  const admit = createAdmission(options, limitConnections(server, MAX_CONNECTIONS));
  let listening: Listening | null = null;

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = requestIdOf(message.headers['x-request-id'], options.createId);
    const { route, query } = parseTarget(message.url ?? '/');
    response.setHeader('x-request-id', requestId);
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the caller disconnected')));
    const signals = [gone.signal, stopping.signal];
    if (route?.kind !== 'attestation') signals.push(AbortSignal.timeout(HANDLER_TIMEOUT_MS));
    try {
      const admitted = await admit(route, message);
      const request: ApiRequest = {
        headers: message.headers,
        query,
        requestId,
        signal: AbortSignal.any(signals),
        readBody: async () => await readJsonBody(message),
      };
      const result = withoutPaths(options, admitted, await answer(admitted, request));
      if (response.destroyed) return;
      setDateHeader(options, response);
      sendAnswer(response, result, message.method === 'HEAD');
    } catch (error) {
      if (response.destroyed) return;
      setDateHeader(options, response);
      if (route?.kind === 'attestation') setConditionHeaders(options, response, error);
      refuse(options.logger, response, route, renderRefusal(options, route, error, requestId));
    }
  };

  server.on('request', (message, response) => {
    const { traceparent, tracestate } = message.headers;
    const trace = receiveTrace({ traceparent, tracestate }, options.createSpanId);
    void withTrace(trace, async () => await handle(message, response));
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

/** Creates the function that answers an admitted request. */
function createRouter(
  options: DaemonApiOptions,
): (route: ApiRoute, request: ApiRequest) => Promise<ApiAnswer> {
  const { clock } = options;
  const startedAt = clock.monotonic();
  return async (route, request) => {
    switch (route.kind) {
      case 'health': {
        const { waitingFor } = options.readiness();
        return jsonAnswer(200, {
          status: 'ok',
          version: options.version,
          boot_id: options.bootId,
          uptime_seconds: Math.floor((clock.monotonic() - startedAt) / 1000),
          ...(waitingFor === undefined ? {} : { waiting_for: waitingFor }),
        });
      }
      case 'readiness': {
        const { ready, message } = options.readiness();
        return jsonAnswer(ready ? 200 : 503, { ready, message });
      }
      case 'attestation':
        return await answerAttestation({ ...options, ...options.surface() }, request);
      case 'damage':
        return await answerDamage(options.surface().reportDamage, request);
      case 'report':
        return await readReport({ ...options, ...options.surface() }, route.name, request);
      case 'control':
        return await answerControl({ ...options, ...options.surface() }, route.name, request);
    }
  };
}

/**
 * Creates the function that returns the route of a request, or throws ServiceError when the request is not admitted.
 */
function createAdmission(
  options: DaemonApiOptions,
  room: ConnectionRoom,
): (route: ApiRoute | null, request: IncomingMessage) => Promise<ApiRoute> {
  const isAuthorized = createTokenCheck(options.tokenFile, options.logger, options.secrets);
  return async (route, request) => {
    const { method, headers, socket } = request;
    const problem = messageProblem(request);
    if (problem !== null) throw new ServiceError('invalid_request', problem);
    refuseBrowserPages(headers, options.allowedHosts());
    const open = route?.kind === 'health' || route?.kind === 'readiness';
    if (!open) {
      if (!(await isAuthorized(headers.authorization))) {
        throw new ServiceError(
          'not_authenticated',
          'send the shared token as "Authorization: Bearer <token>"',
        );
      }
      room.keep(socket);
    }
    if (route === null) throw new ServiceError('not_found', 'nothing is served under this path');
    if (!ROUTE_METHODS[route.kind].includes(method ?? '')) {
      throw new ServiceError('method_not_allowed', `use ${ROUTE_METHODS[route.kind].join(' or ')}`);
    }
    const readiness = options.readiness();
    const explains =
      route.kind === 'report' && EARLY_REPORTS.has(route.name) && options.surface().reports.has(route.name);
    if (!open && !explains && readiness.waitingFor !== undefined) {
      const where = route.kind === 'attestation' ? '; its attestation is on the snapshot volume' : '';
      throw new ServiceError('standby', `${readiness.message}${where}`, { retryAfter: 1 });
    }
    if (!open && !explains && !readiness.ready) {
      throw new ServiceError('backend_unavailable', `the daemon is not ready: ${readiness.message}`, {
        retryAfter: 1,
      });
    }
    return route;
  };
}

/** States the wall clock that dates attestations, so that a server can compare it with its own. */
function setDateHeader({ clock }: DaemonApiOptions, response: ServerResponse): void {
  response.setHeader('date', new Date(clock.now()).toUTCString());
}

/** Adds the conditions to a refusal that comes from the state of the daemon and not from the request. */
function setConditionHeaders(
  { surface, readiness }: DaemonApiOptions,
  response: ServerResponse,
  error: unknown,
): void {
  if (!(error instanceof ServiceError)) return;
  // A standby that waits for a volume has its condition; one that waits for another daemon has none.
  if (error.code === 'no_attestation' || error.code === 'standby') {
    response.setHeaders(new Map(Object.entries(renderConditionHeaders(surface().conditions.current()))));
  } else if (error.code === 'backend_unavailable' && !readiness().ready) {
    response.setHeaders(new Map(Object.entries(renderConditionHeaders(STARTING))));
  }
}

/** The one condition of a daemon that is not ready. */
const STARTING: ConditionState = {
  conditions: [
    { code: 'starting', message: 'the daemon has not finished its recovery', since: null, next_try: null },
  ],
  tag: 'starting',
};

function refuse(
  logger: Logger,
  response: ServerResponse,
  route: ApiRoute | null,
  problem: RenderedProblem & { readonly requestId: string },
): void {
  const { code, status, internal, requestId } = problem;
  logger[problem.logLevel](
    { request_id: requestId, route: route?.kind, code, status, internal },
    'request refused',
  );
  sendProblem(response, problem);
}

/** The answer without the paths of this machine, where its messages are for callers. */
function withoutPaths({ nameFolders }: DaemonApiOptions, route: ApiRoute, answer: ApiAnswer): ApiAnswer {
  const isForCallers = route.kind === 'report' && namesNoPaths(route.name);
  return isForCallers && answer.body !== null ? { ...answer, body: nameFolders()(answer.body) } : answer;
}

function renderRefusal(
  { nameFolders }: DaemonApiOptions,
  route: ApiRoute | null,
  error: unknown,
  requestId: string,
): RenderedProblem & { readonly requestId: string } {
  const render = route?.kind === 'control' ? renderActionProblem : renderProblem;
  const rendered = render(error, requestId);
  const body = nameFolders()(rendered.body);
  const length = { 'content-length': String(body.length) };
  const problem = { ...rendered, body, headers: { ...rendered.headers, ...length } };
  const headers =
    route !== null && problem.code === 'method_not_allowed'
      ? { ...problem.headers, allow: ROUTE_METHODS[route.kind].join(', ') }
      : problem.headers;
  return { ...problem, headers, requestId };
}

function createApiServer(): Server {
  return createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 5000,
    requireHostHeader: true,
  });
}

/** The connections of a server, with a limit. */
interface ConnectionRoom {
  /** Marks the connection of a caller that sent the token: it never gives way to others. */
  readonly keep: (socket: Socket) => void;
}

/**
 * Limits the connections of a server. At the limit, the oldest connection whose caller has not sent the token is closed
 * for a new one, so that no other process of the machine can use up the connections of the callers that have it.
 *
 * @param max number of open connections
 */
function limitConnections(server: Server, max: number): ConnectionRoom {
  const kept = new Set<Socket>();
  // In the order of their arrival.
  const unauthenticated = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unauthenticated.add(socket);
    socket.once('close', () => {
      kept.delete(socket);
      unauthenticated.delete(socket);
    });
    if (kept.size + unauthenticated.size <= max) return;
    const [oldest = socket] = unauthenticated;
    unauthenticated.delete(oldest);
    oldest.destroy();
  });
  return {
    keep: (socket) => {
      if (unauthenticated.delete(socket)) kept.add(socket);
    },
  };
}

/**
 * Indexes definitions by name.
 *
 * @throws Error when two definitions have the same name
 */
export function byName<T extends { readonly name: string }>(defined: readonly T[]): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const each of defined) {
    if (found.has(each.name)) throw new Error(`${each.name} is defined twice`);
    found.set(each.name, each);
  }
  return found;
}
