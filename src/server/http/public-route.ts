import type { IncomingMessage, ServerResponse } from 'node:http';

import type { OperationDefinition } from '../../contract/operations/operation-definition.ts';
import { parseQuery } from '../../contract/operations/query-parser.ts';
import type { QuerySchema } from '../../contract/schemas/query.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { evaluatePreconditions } from '../../domain/http/preconditions.ts';
import { renderProblem, sendProblem } from '../../platform/http/problem.ts';
import type { z } from 'zod';
import type { Answer } from './answer.ts';
import { isWellEncoded, type RequestTarget } from './request-target.ts';
import { encodeAnswer } from './encode-answer.ts';
import { sendAnswer } from './send-answer.ts';
import { tooManyRequests, type TokenVerifier } from './token-verifier.ts';

/** Methods of every public route. */
export const PUBLIC_METHODS = 'GET, HEAD, OPTIONS';

/** One public route: its fixed path and its handler. */
export interface PublicRoute {
  readonly path: string;
  /** Never requires a token, whatever the configuration says. */
  readonly isOpen: boolean;
  /** Whether an invalid query gets a 400; otherwise its valid parameters count. */
  readonly canRefuse: boolean;
  /** Whether its answers are large enough to be compressed for clients that take it. */
  readonly isCompressed: boolean;
  /** Parses the query and answers; throws ServiceError. */
  readonly answer: (query: URLSearchParams, signal: AbortSignal) => Answer | Promise<Answer>;
}

/**
 * Binds a handler to its operation of the contract.
 *
 * @param answer gets the parsed query
 * @param options.isCompressed see {@link PublicRoute}
 */
export function publicRoute<Schema extends QuerySchema>(
  operation: Pick<OperationDefinition, 'path' | 'auth' | 'answers'> & { readonly query: Schema },
  answer: (query: z.infer<Schema>, signal: AbortSignal) => Answer | Promise<Answer>,
  { isCompressed = false }: { readonly isCompressed?: boolean } = {},
): PublicRoute {
  // Probes and launchers get their answer even if their query is malformed.
  const canRefuse = operation.answers[400] !== undefined;
  return {
    path: operation.path,
    isOpen: operation.auth === 'none',
    canRefuse,
    isCompressed,
    answer: (parameters, signal) => {
      const query = parseQuery(operation.query, canRefuse ? parameters : lastOfEach(parameters));
      if (!query.ok) {
        throw new ServiceError('invalid_request', 'The query is not valid; "errors" names each parameter.', {
          errors: query.error,
        });
      }
      return answer(query.value, signal);
    },
  };
}

/** Keeps only the last value of a repeated parameter. */
function lastOfEach(parameters: URLSearchParams): URLSearchParams {
  return parameters.size < 2 ? parameters : new URLSearchParams(Object.fromEntries(parameters));
}

/** One request and its context. */
export interface RequestContext {
  readonly requestId: string;
  readonly target: RequestTarget;
  /** Address of the runbooks, which problems with a reason link to. */
  readonly runbooks: string;
  /** Called with the error, for the log. */
  readonly onError: (error: unknown) => void;
}

/**
 * Answers one request of a public route, whatever its method.
 *
 * @param tokens checks the token; `null` if the public routes are open
 */
export async function answerPublicRoute(
  route: PublicRoute,
  exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
  context: RequestContext,
  tokens: TokenVerifier | null,
): Promise<void> {
  const { request, response } = exchange;
  try {
    if (request.method === 'OPTIONS') {
      await sendAnswer(request, response, { status: 204, headers: { allow: PUBLIC_METHODS }, body: [] });
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new ServiceError('method_not_allowed', `${route.path} supports ${PUBLIC_METHODS}.`);
    }
    // A plus sign is a space in a query; this check does not need it decoded.
    if (route.canRefuse && !isWellEncoded(context.target.query)) throw badEncoding('query');
    const query = new URLSearchParams(context.target.query);
    if (!route.isOpen) await requireToken(tokens, exchange, query);
    const gone = new AbortController();
    response.once('close', () => {
      // Creating the reason of an abort takes longer than answering a probe.
      if (!response.writableFinished) gone.abort();
    });
    const answer = await asAccepted(route, exchange, await route.answer(query, gone.signal));
    if (!response.destroyed) await sendAnswer(request, response, answer, gone.signal);
  } catch (error) {
    failRequest(error, exchange, context);
  }
}

/** The answer as this client gets it: known already, compressed, or as it is. */
async function asAccepted(
  { isCompressed }: PublicRoute,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  answer: Answer,
): Promise<Answer> {
  const asked = unlessKnown(request, answer);
  if (!isCompressed) return asked;
  // Beside the one that names the origin of the request.
  response.appendHeader('vary', 'Accept-Encoding');
  return await encodeAnswer(asked, request.headers['accept-encoding']);
}

/** The answer, or a 304 when it has an entity tag that the client names in `If-None-Match`. */
function unlessKnown({ method = 'GET', headers }: IncomingMessage, answer: Answer): Answer {
  const { etag } = answer.headers;
  if (etag === undefined) return answer;
  const validators = { etag, lastModified: 0, lastModifiedIsStrong: false };
  const conditions = { 'if-none-match': headers['if-none-match'] };
  if (evaluatePreconditions(method, conditions, validators, 0) !== 'not_modified') return answer;
  const kept = Object.entries(answer.headers).filter(([name]) => name !== 'content-type');
  return { status: 304, headers: Object.fromEntries(kept), body: [] };
}

/**
 * Admits a request with a valid token.
 *
 * @throws ServiceError `not_authenticated` (401), `too_many_requests` (429)
 */
export async function requireToken(
  tokens: TokenVerifier | null,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  query: URLSearchParams,
): Promise<void> {
  if (tokens === null) return;
  const authorization = request.headersDistinct['authorization'] ?? [];
  const outcome = await tokens.verify({ authorization, query, response });
  if (outcome.ok) return;
  if (outcome.why === 'limited') throw tooManyRequests(outcome.refusal);
  throw new ServiceError(
    'not_authenticated',
    outcome.why === 'refused'
      ? 'The token is not one of this server.'
      : outcome.why === 'several'
        ? 'More than one token was sent: send one, as "Authorization: Bearer" or as the svc_token parameter.'
        : 'A token is required: send it as "Authorization: Bearer" or as the svc_token parameter.',
    { internal: `token ${outcome.why}` },
  );
}

/** The 400 for percent signs that begin no octet, or octets that are not UTF-8. */
export function badEncoding(where: 'path' | 'query'): ServiceError {
  return new ServiceError('invalid_request', `The ${where} is not percent-encoded UTF-8.`);
}

/** Answers with the problem of an error. A client that has disconnected gets nothing. */
export function failRequest(
  error: unknown,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  context: RequestContext,
): void {
  context.onError(error);
  if (response.destroyed) return;
  const isMethod = error instanceof ServiceError && error.code === 'method_not_allowed';
  const headers = { 'x-content-type-options': 'nosniff', ...(isMethod ? { allow: PUBLIC_METHODS } : {}) };
  const problem = renderProblem(error, context.requestId, headers, context.runbooks);
  sendProblem(Object.assign(response, { req: request }), problem);
}
