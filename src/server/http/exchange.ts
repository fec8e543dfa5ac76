import type { IncomingMessage, ServerResponse } from 'node:http';

import type { z } from 'zod';

import { parseQuery } from '../../contract/operations/query-parser.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { QuerySchema } from '../../contract/schemas/query.ts';
import { renderProblem, sendProblem } from '../../platform/http/problem.ts';
import { isWellEncoded, type RequestTarget } from './request-target.ts';

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What the front knows of a request when Express gets it. */
export interface RequestContext {
  readonly requestId: string;
  /** Not decoded. Express matches its path. */
  readonly target: RequestTarget;
  readonly runbooks: string | null;
  readonly onError: (error: unknown) => void;
}

const contexts = new WeakMap<IncomingMessage, RequestContext>();

/** Keeps the context of a request for {@link contextOf}. */
export function setContext(request: IncomingMessage, context: RequestContext): void {
  contexts.set(request, context);
}

/** The context of a request that came through the front. */
export function contextOf(request: IncomingMessage): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error('a request reached Express without its context');
  return context;
}

/**
 * Refuses a request with another method than those of its route.
 *
 * @param methods as `Allow` lists them
 * @throws ServiceError `method_not_allowed` (405)
 */
export function requireMethod({ request, response }: Exchange, route: string, methods: string): void {
  if (methods.split(', ').includes(request.method ?? '')) return;
  response.setHeader('allow', methods);
  throw new ServiceError('method_not_allowed', `${route} supports ${methods}.`);
}

/** A signal that is aborted when the client disconnects before it has its answer. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const abort = (): void => {
    // An abort costs an error with its stack, and a complete answer does not need it.
    if (!response.writableFinished) gone.abort();
  };
  if (response.closed) abort();
  else response.once('close', abort);
  return gone.signal;
}

/**
 * Parses the query of an operation. The result does not contain the token.
 *
 * @throws ServiceError `invalid_request` (400)
 */
export function requireQuery<Schema extends QuerySchema>(
  schema: Schema,
  parameters: URLSearchParams,
): z.infer<Schema> {
  const query = parseQuery(schema, parameters);
  if (query.ok) return query.value;
  throw new ServiceError('invalid_request', 'The query is not valid; "errors" names each parameter.', {
    errors: query.error,
  });
}

/** @throws ServiceError `invalid_request` (400) for percent signs that begin no octet, or octets that are not UTF-8 */
export function requireEncoding(text: string, where: 'path' | 'query'): void {
  if (isWellEncoded(text)) return;
  throw new ServiceError('invalid_request', `The ${where} is not percent-encoded UTF-8.`);
}

/** Answers with the problem of an error. A client that has disconnected gets nothing. */
export function failRequest(error: unknown, { request, response }: Exchange, context: RequestContext): void {
  const isAbort = error instanceof Error && error.name === 'AbortError';
  if (response.destroyed && isAbort) return;
  context.onError(error);
  if (response.destroyed) return;
  const headers = { 'x-content-type-options': 'nosniff' };
  const problem = renderProblem(error, context.requestId, headers, context.runbooks);
  sendProblem(Object.assign(response, { req: request }), problem);
}
