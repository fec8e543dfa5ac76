import type { IncomingMessage, ServerResponse } from 'node:http';

import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { evaluatePreconditions } from '../../domain/http/preconditions.ts';
import { renderProblem, sendProblem } from '../../platform/http/problem.ts';
import { NO_CACHE, type Answer } from '../http/answer.ts';
import type { RequestContext } from '../http/public-route.ts';
import { sendAnswer } from '../http/send-answer.ts';
import type { DashboardFile } from './dashboard-files.ts';

/** The route of the page; its other files are below it. */
export const DASHBOARD_PATH = ADMIN_OPERATIONS.getDashboard.path;

const METHODS = 'GET, HEAD';

/**
 * Headers of every answer. The page may load from this server only, runs no inline script, can never turn text into
 * markup or code (Trusted Types without any policy), sends no form, and cannot be framed.
 *
 * Source: Content Security Policy Level 3 and Trusted Types (W3C); Fetch (WHATWG), Cross-Origin-Resource-Policy.
 */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Serves the dashboard's files; they are public, because they contain no data. */
export interface DashboardRoute {
  /** Answers one request for which {@link isDashboardPath} is true; never throws. */
  handle(request: IncomingMessage, response: ServerResponse, context: RequestContext): Promise<void>;
}

/** Whether a path belongs to the dashboard, even if no file has it. */
export function isDashboardPath(path: string): boolean {
  return path.startsWith(DASHBOARD_PATH) || `${path}/` === DASHBOARD_PATH;
}

/**
 * Makes the route. It ignores the query, so that no parameter of a link has an effect.
 *
 * @param files by name below {@link DASHBOARD_PATH}
 */
export function createDashboardRoute(files: ReadonlyMap<string, DashboardFile>): DashboardRoute {
  const answer = ({ method = '', headers }: IncomingMessage, path: string): Answer => {
    if (method !== 'GET' && method !== 'HEAD') {
      throw new ServiceError('method_not_allowed', `${DASHBOARD_PATH} supports ${METHODS}.`);
    }
    if (!path.startsWith(DASHBOARD_PATH)) {
      return { status: 308, headers: { location: DASHBOARD_PATH, 'cache-control': NO_CACHE }, body: [] };
    }
    const file = files.get(path.slice(DASHBOARD_PATH.length));
    if (file === undefined) throw new ServiceError('not_found', 'The dashboard has no file of this name.');
    const validators = { etag: file.etag, lastModified: 0, lastModifiedIsStrong: false };
    // The files have only an entity tag, so conditions on dates do not apply.
    const conditions = { 'if-match': headers['if-match'], 'if-none-match': headers['if-none-match'] };
    const outcome = evaluatePreconditions(method, conditions, validators, 0);
    if (outcome === 'failed') {
      throw new ServiceError('precondition_failed', `The file has the entity tag ${file.etag}.`);
    }
    const shared = { etag: file.etag, 'cache-control': NO_CACHE };
    return outcome === 'not_modified'
      ? { status: 304, headers: shared, body: [] }
      : { status: 200, headers: { ...shared, 'content-type': file.mediaType }, body: [file.body] };
  };

  return {
    handle: async (request, response, context) => {
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
      response.setHeader('x-request-id', context.requestId);
      try {
        await sendAnswer(request, response, answer(request, context.target.path));
      } catch (error) {
        context.onError(error);
        const isMethod = error instanceof ServiceError && error.code === 'method_not_allowed';
        const problem = renderProblem(error, context.requestId, isMethod ? { allow: METHODS } : {});
        sendProblem(Object.assign(response, { req: request }), problem);
      }
    },
  };
}
