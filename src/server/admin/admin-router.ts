import type { IncomingMessage } from 'node:http';

import { Router } from 'express';

import { listOperations } from '../../contract/operations/operations.ts';
import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import type { AdminIndex } from '../../contract/schemas/answers/admin.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { ServerHistory } from '../history/server-history.ts';
import { jsonAnswer, NO_STORE, slashRedirect } from '../http/answer.ts';
import { contextOf, requireEncoding, requireMethod, requireQuery, type Exchange } from '../http/exchange.ts';
import { sendAnswer } from '../http/send-answer.ts';
import type { TokenCaller } from '../http/token-verifier.ts';
import { renderAdminIndex, renderHistory } from './admin-index.ts';
import { actionOf, adminTemplateOf, isAdminPath } from './admin-paths.ts';
import { answerControl, type ControlParts } from './control.ts';
import { forwardReport, type ReportParts } from './reports.ts';

interface AdminParts extends ControlParts, ReportParts {
  readonly history: ServerHistory;
  readonly version: string;
  readonly hostName: string;
}

const ADMIN_HEADERS = {
  'cache-control': NO_STORE,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

const READ_METHODS = 'GET, HEAD';
const INDEX_PATH = ADMIN_OPERATIONS.getAdminIndex.path;
const CONTROL_PATH = ADMIN_OPERATIONS.postControl.path;

/** Every operation that asks for a token and only reads, in the order of the table. */
export const READ_OPERATIONS = listOperations().filter(
  ({ auth, method }) => auth === 'admin' && method === 'get',
);

/** Makes the router of the admin surface from the operation table, which is the allowlist of the proxy. */
export function createAdminRouter(parts: AdminParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  // The daemon logs it.
  const requestIdOf = (request: IncomingMessage): string => parts.secrets.mask(contextOf(request).requestId);

  router.use((request, response, next) => {
    const { path } = contextOf(request).target;
    if (!isAdminPath(path)) {
      next('router');
      return;
    }
    for (const [name, value] of Object.entries(ADMIN_HEADERS)) response.setHeader(name, value);
    if (adminTemplateOf(path) === null) {
      throw new ServiceError('not_found', 'Nothing is served under this path; /admin/ lists every read.');
    }
    next();
  });

  router.all(INDEX_PATH.slice(0, -1), async (request, response) => {
    requireMethod({ request, response }, INDEX_PATH, READ_METHODS);
    await sendAnswer(request, response, slashRedirect(contextOf(request).target.path));
  });

  for (const operation of READ_OPERATIONS) {
    const { path, daemon } = operation;
    router.all(path, async (request, response) => {
      const exchange = { request, response };
      requireMethod(exchange, path, READ_METHODS);
      const text = contextOf(request).target.query;
      const parameters = new URLSearchParams(text);
      const caller = await parts.admit(exchange, parameters, 'read');
      // No read takes a body, so a GET with a body is a mistake of the client.
      if (hasBody(request)) {
        throw new ServiceError('invalid_request', 'Reads have no body; send the parameters in the query.');
      }
      requireEncoding(text, 'query');
      const query = requireQuery(operation.query, parameters);
      if (daemon === undefined || !('report' in daemon)) await sendIndex(parts, caller, exchange);
      else {
        const read = { report: daemon.report, query, requestId: requestIdOf(request) };
        await forwardReport(parts, read, exchange);
      }
    });
  }

  // The action is compared as sent, so the route captures nothing that Express would decode.
  router.all(/^\/admin\/control\/[^/]+$/, async (request, response) => {
    const exchange = { request, response };
    requireMethod(exchange, CONTROL_PATH, 'POST');
    const action = actionOf(contextOf(request).target.path) ?? '';
    const answer = await answerControl({ exchange, action, requestId: requestIdOf(request) }, parts);
    if (!response.destroyed) await sendAnswer(request, response, answer);
  });

  return router;
}

async function sendIndex(
  { exposeControl, history, version, hostName }: AdminParts,
  caller: TokenCaller,
  { request, response }: Exchange,
): Promise<void> {
  const body: AdminIndex = {
    ...renderAdminIndex(READ_OPERATIONS, { exposed: exposeControl, version, caller }),
    history: renderHistory(hostName, history.read()),
    scrub: await history.scrub(),
  };
  await sendAnswer(request, response, jsonAnswer(body, { cacheControl: NO_STORE }));
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}
