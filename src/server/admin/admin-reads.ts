import type { IncomingMessage } from 'node:http';

import type { OperationDefinition } from '../../contract/operations/operation-definition.ts';
import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import { parseQuery } from '../../contract/operations/query-parser.ts';
import type { AdminIndex } from '../../contract/schemas/answers/admin.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { renderProblem } from '../../platform/http/problem.ts';
import { jsonAnswer, NO_STORE, problemAnswer, type Answer } from '../http/answer.ts';
import { badEncoding, type RequestContext } from '../http/public-route.ts';
import { isWellEncoded } from '../http/request-target.ts';
import type { AdminGate, AdminVisitor } from './admin-gate.ts';
import { renderAdminIndex, renderHistory, renderScrub } from './admin-index.ts';
import type { AdminMetrics } from './admin-metrics.ts';
import { READ_OPERATIONS, type ReadRoute } from './admin-routes.ts';
import type { ServerHistory } from '../history/server-history.ts';
import type { DaemonPresence } from '../daemon-client/daemon-presence.ts';
import type { ReportForwarder } from './reports/report-forwarder.ts';
import type { AddServerChecks } from './reports/server-checks.ts';
import { createReportRoute } from './reports/report-route.ts';

/** Headers of every answer under `/admin`. */
const ADMIN_HEADERS = {
  'cache-control': NO_STORE,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/** One read as received; only its route has been checked. */
interface AdminRead {
  readonly route: ReadRoute;
  readonly request: IncomingMessage;
  /** Not decoded, without the `?`. */
  readonly query: string;
  /** Each `Authorization` field. */
  readonly authorization: readonly string[];
  /** Address that the request came from. */
  readonly source: string;
  readonly response: AdminVisitor['response'];
  readonly requestId: string;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Answers reads; throws ServiceError. */
type AdminReads = (read: AdminRead) => Promise<Answer>;

export interface AdminReadsOptions {
  readonly gate: AdminGate;
  readonly forwarder: ReportForwarder;
  readonly presence: DaemonPresence;
  readonly addServerChecks: AddServerChecks;
  readonly metrics: AdminMetrics;
  readonly clock: Clock;
  readonly exposeControl: boolean;
  readonly history: Pick<ServerHistory, 'read' | 'scrub'>;
  /** Version of the program. */
  readonly version: string;
  /** Of this machine or pod. */
  readonly hostName: string;
}

/** Makes the function that answers the index and the reports. */
export function createAdminReads({
  gate,
  exposeControl,
  history,
  version,
  hostName,
  ...options
}: AdminReadsOptions): AdminReads {
  const answerReport = createReportRoute(options);

  return async ({ route, request, query: text, authorization, source, response, requestId, signal }) => {
    const query = new URLSearchParams(text);
    const caller = await gate.admit({ authorization, query, source, response }, 'read');
    // No read takes a body, so a GET with a body is a mistake of the client.
    if (hasBody(request)) {
      throw new ServiceError('invalid_request', 'Reads have no body; send the parameters in the query.');
    }
    if (route.kind === 'index') {
      checkAdminQuery(ADMIN_OPERATIONS.getAdminIndex, query, text);
      const body: AdminIndex = {
        ...renderAdminIndex(READ_OPERATIONS, { exposed: exposeControl, version, caller }),
        history: renderHistory(hostName, history.read()),
        scrub: renderScrub(await history.scrub()),
      };
      return jsonAnswer(body, { cacheControl: NO_STORE });
    }
    const values = checkAdminQuery(route.operation, query, text);
    const { headers, httpVersion } = request;
    const { report } = route;
    return await answerReport({ via: headers.via, httpVersion, report, query: values, requestId, signal });
  };
}

/**
 * Parses the query of an operation. The result does not contain the token.
 *
 * @param text the same query as sent
 * @throws ServiceError `invalid_request` (400)
 */
export function checkAdminQuery(
  operation: Pick<OperationDefinition, 'query'>,
  parameters: URLSearchParams,
  text: string,
): Readonly<Record<string, unknown>> {
  if (!isWellEncoded(text)) throw badEncoding('query');
  const query = parseQuery(operation.query, parameters);
  if (query.ok) return query.value;
  throw new ServiceError('invalid_request', 'The query is not valid; "errors" names each parameter.', {
    errors: query.error,
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}

/** Adds the headers that every answer under `/admin` has. */
export function adminAnswer(answer: Answer, requestId: string): Answer {
  return { ...answer, headers: { ...ADMIN_HEADERS, 'x-request-id': requestId, ...answer.headers } };
}

/** The problem answer to an error. @param allow methods of the path if the method is wrong, else `null` */
export function adminProblem(
  error: unknown,
  { requestId, runbooks }: Pick<RequestContext, 'requestId' | 'runbooks'>,
  allow: string | null,
): Answer {
  const isMethod = error instanceof ServiceError && error.code === 'method_not_allowed';
  const headers = isMethod && allow !== null ? { allow } : {};
  return adminAnswer(problemAnswer(renderProblem(error, requestId, headers, runbooks)), requestId);
}
