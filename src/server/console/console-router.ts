import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import { Router } from 'express';

import { ADMIN_OPERATIONS } from '../../contract/operations/operations-admin.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { chooseCoding } from '../../domain/http/content-coding.ts';
import { evaluatePreconditions } from '../../domain/http/preconditions.ts';
import { NO_CACHE, NO_STORE, slashRedirect, type Answer } from '../http/answer.ts';
import { contextOf, requireMethod } from '../http/exchange.ts';
import { sendAnswer } from '../http/send-answer.ts';
import { CODINGS, type ConsoleFile } from './console-files.ts';

/** The route of the page; its other files are below it. */
export const CONSOLE_PATH = ADMIN_OPERATIONS.getDashboard.path;

const METHODS = 'GET, HEAD';

/** For files whose name changes with their content (RFC 8246). */
const FOR_EVER = 'public, max-age=31536000, immutable';

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

/** Whether a path belongs to the console, even if no file has it. */
export function isConsolePath(path: string): boolean {
  return path.startsWith(CONSOLE_PATH) || `${path}/` === CONSOLE_PATH;
}

/**
 * Makes the router of the console. Its files are public, because they contain no data. It ignores the query, so that no
 * parameter of a link has an effect.
 *
 * @param files by name below {@link CONSOLE_PATH}
 */
export function createConsoleRouter(files: ReadonlyMap<string, ConsoleFile>): Router {
  const router = Router();
  router.use(async (request, response, next) => {
    const { path } = contextOf(request).target;
    if (!isConsolePath(path)) {
      next('router');
      return;
    }
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    requireMethod({ request, response }, CONSOLE_PATH, METHODS);
    await sendAnswer(request, response, answerOf(files, path, request));
  });
  return router;
}

function answerOf(
  files: ReadonlyMap<string, ConsoleFile>,
  path: string,
  { method = '', headers }: IncomingMessage,
): Answer {
  if (!path.startsWith(CONSOLE_PATH)) return slashRedirect(path);
  const name = path.slice(CONSOLE_PATH.length);
  if (name === '' && files.size === 0) return notBuilt();
  const file = files.get(name);
  if (file === undefined) throw new ServiceError('not_found', 'The console has no file of this name.');
  return fileAnswer(method, headers, file);
}

function notBuilt(): Answer {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': NO_STORE };
  return { status: 200, headers, body: [Buffer.from(NOT_BUILT)] };
}

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
