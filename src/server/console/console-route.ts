import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { chooseCoding } from '../../domain/http/content-coding.ts';
import { evaluatePreconditions } from '../../domain/http/preconditions.ts';
import { renderProblem, sendProblem } from '../../platform/http/problem.ts';
import { NO_CACHE, NO_STORE, type Answer } from '../http/answer.ts';
import type { RequestContext } from '../http/public-route.ts';
import { sendAnswer } from '../http/send-answer.ts';
import { CODINGS, type ConsoleFile } from './console-files.ts';

/** The route of the page; its other files are below it. */
export const CONSOLE_PATH = ADMIN_OPERATIONS.getDashboard.path;

const METHODS = 'GET, HEAD';

/** For files whose name changes with their content (RFC 8246). */
const FOR_EVER = 'public, max-age=31536000, immutable';

/** The page of a server without a built console. */
const NOT_BUILT = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>Slipway</title></head>
  <body>
    <h1>The console is not built</h1>
    <p>Run <code>node scripts/console.ts</code> in the folder of Slipway, then start this server again.</p>
    <p>Everything that the console shows is also under <code>/admin/</code>, and nothing else depends on it.</p>
  </body>
</html>
`;

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

/** Serves the console's files; they are public, because they contain no data. */
export interface ConsoleRoute {
  /** Answers one request for which {@link isConsolePath} is true; never throws. */
  handle(request: IncomingMessage, response: ServerResponse, context: RequestContext): Promise<void>;
}

/** Whether a path belongs to the console, even if no file has it. */
export function isConsolePath(path: string): boolean {
  return path.startsWith(CONSOLE_PATH) || `${path}/` === CONSOLE_PATH;
}

/**
 * Makes the route. It ignores the query, so that no parameter of a link has an effect.
 *
 * @param files by name below {@link CONSOLE_PATH}
 */
export function createConsoleRoute(files: ReadonlyMap<string, ConsoleFile>): ConsoleRoute {
  const answer = ({ method = '', headers }: IncomingMessage, path: string): Answer => {
    if (method !== 'GET' && method !== 'HEAD') {
      throw new ServiceError('method_not_allowed', `${CONSOLE_PATH} supports ${METHODS}.`);
    }
    if (!path.startsWith(CONSOLE_PATH)) {
      return { status: 308, headers: { location: CONSOLE_PATH, 'cache-control': NO_CACHE }, body: [] };
    }
    const name = path.slice(CONSOLE_PATH.length);
    if (name === '' && files.size === 0) return notBuilt();
    const file = files.get(name);
    if (file === undefined) throw new ServiceError('not_found', 'The console has no file of this name.');
    return fileAnswer(method, headers, file);
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

function notBuilt(): Answer {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': NO_STORE };
  return { status: 200, headers, body: [Buffer.from(NOT_BUILT)] };
}

/** One file in the coding that the client prefers, unless the client has it already. */
function fileAnswer(method: string, headers: IncomingHttpHeaders, file: ConsoleFile): Answer {
  const coding = chooseCoding(headers['accept-encoding'], CODINGS);
  const { body, etag } = file.encodings[coding];
  const validators = { etag, lastModified: 0, lastModifiedIsStrong: false };
  // The files have only an entity tag, so conditions on dates do not apply.
  const conditions = { 'if-match': headers['if-match'], 'if-none-match': headers['if-none-match'] };
  const outcome = evaluatePreconditions(method, conditions, validators, 0);
  if (outcome === 'failed') {
    throw new ServiceError('precondition_failed', `The file has the entity tag ${etag}.`);
  }
  const shared = {
    etag,
    'cache-control': file.isImmutable ? FOR_EVER : NO_CACHE,
    vary: 'accept-encoding',
  };
  if (outcome === 'not_modified') return { status: 304, headers: shared, body: [] };
  return {
    status: 200,
    headers: {
      ...shared,
      'content-type': file.mediaType,
      ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
    },
    body: [body],
  };
}
