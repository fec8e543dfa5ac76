import type { IncomingMessage } from 'node:http';

import type { z } from 'zod';
import type { OperationDefinition } from '../../contract/operations/operation-definition.ts';
import type { QuerySchema } from '../../contract/schemas/query.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { evaluatePreconditions } from '../../domain/http/preconditions.ts';
import type { Answer } from './answer.ts';
import { encodeAnswer } from './encode-answer.ts';
import {
  contextOf,
  goneSignal,
  requireEncoding,
  requireMethod,
  requireQuery,
  type Exchange,
} from './exchange.ts';
import { sendAnswer } from './send-answer.ts';
import { tooManyRequests, type TokenVerifier } from './token-verifier.ts';

const PUBLIC_METHODS = 'GET, HEAD, OPTIONS';

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
  operation: OperationDefinition & { readonly query: Schema },
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
    answer: (parameters, signal) =>
      answer(requireQuery(operation.query, canRefuse ? parameters : lastOfEach(parameters)), signal),
  };
}

function lastOfEach(parameters: URLSearchParams): URLSearchParams {
  return parameters.size < 2 ? parameters : new URLSearchParams(Object.fromEntries(parameters));
}

/**
 * Answers one request of a public route, whatever its method.
 *
 * @param tokens checks the token; `null` if the public routes are open
 * @throws ServiceError
 */
export async function answerPublicRoute(
  route: PublicRoute,
  exchange: Exchange,
  tokens: TokenVerifier | null,
): Promise<void> {
  const { request, response } = exchange;
  requireMethod(exchange, route.path, PUBLIC_METHODS);
  if (request.method === 'OPTIONS') {
    await sendOptions(exchange);
    return;
  }
  const { target } = contextOf(request);
  // A plus sign is a space in a query; this check does not need it decoded.
  if (route.canRefuse) requireEncoding(target.query, 'query');
  const query = new URLSearchParams(target.query);
  if (!route.isOpen) await requireToken(tokens, exchange, query);
  const gone = goneSignal(response);
  const answer = await asAccepted(route, exchange, await route.answer(query, gone));
  if (!response.destroyed) await sendAnswer(request, response, answer, gone);
}

/** Answers OPTIONS for a public route, or for the server as a whole. */
export async function sendOptions({ request, response }: Exchange): Promise<void> {
  await sendAnswer(request, response, { status: 204, headers: { allow: PUBLIC_METHODS }, body: [] });
}

async function asAccepted(
  { isCompressed }: PublicRoute,
  { request, response }: Exchange,
  answer: Answer,
): Promise<Answer> {
  const asked = unlessKnown(request, answer);
  if (!isCompressed) return asked;
  // Beside the one that names the origin of the request.
  response.appendHeader('vary', 'Accept-Encoding');
  return await encodeAnswer(asked, request.headers['accept-encoding']);
}

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
  { request, response }: Exchange,
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
