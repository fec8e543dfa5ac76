import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '../../contract/problems/service-error.ts';
import {
  planByteResponse,
  type ByteRequestHeaders,
  type ByteResponsePlan,
} from '../../domain/http/byte-response.ts';
import { renderProblem, sendProblem } from '../../platform/http/problem.ts';
import { requestId } from '../../platform/process/ids.ts';
import type { Exchange } from '../http/exchange.ts';
import { ByteFault } from './byte-fault.ts';
import { createBytePathParts, type BytePathOptions, type BytePathParts } from './byte-path-parts.ts';
import { ALLOW, problemHeaders, RangeRefusal, serviceErrorOf } from './byte-path-problems.ts';
import type { SelectedEntry } from './entry-selector.ts';

/** Answers everything below `/{cdn_host}/`. */
export interface BytePathHandler {
  readonly parts: BytePathParts;
  /**
   * Answers one request; never throws.
   *
   * @param target the request target in origin form, as received
   */
  handle(request: IncomingMessage, response: ServerResponse, target: string): void;
  /** Closes descriptors, memory and timers; responses in progress are finished. */
  close(): void;
}

/**
 * Makes the handler of the byte path. It selects the entry, checks that its release may be served, plans the response
 * by the rules of HTTP, and sends verified bytes.
 */
export function createBytePathHandler(options: BytePathOptions): BytePathHandler {
  const { logger, clock, limits, runbooks } = options;
  const parts = createBytePathParts(options);

  const fail = ({ request, response }: Exchange, error: unknown): void => {
    const id = requestId(request.headers['x-request-id'], options.createRequestId);
    const known = serviceErrorOf(error, limits.retryAfterSeconds);
    const problem = renderProblem(known, id, problemHeaders(error), runbooks);
    if (problem.logLevel === 'error') {
      logger.error(
        { request_id: id, route: '/{cdn_host}/{path}', internal: problem.internal },
        'a request failed',
      );
    }
    if (response.closed) return;
    if (!response.headersSent) parts.metrics.answered('none', problem.status);
    sendProblem(response, problem);
  };

  const answer = async (exchange: Exchange, target: string): Promise<void> => {
    const { request, response } = exchange;
    if (request.method === 'OPTIONS') {
      response.writeHead(204, ['Allow', ALLOW]);
      response.end();
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new ServiceError('method_not_allowed', 'Resources support only GET and HEAD.');
    }
    const selected = parts.selector.select(target);
    const plan = planResponse(request, selected, clock.now());
    if (plan.status === 412) {
      throw new ServiceError(
        'precondition_failed',
        'The condition of If-Match or If-Unmodified-Since failed for this resource.',
      );
    }
    if (plan.status === 416) throw new RangeRefusal(plan.headers[1] ?? '');
    await parts.sender.send(response, selected, plan, {
      fromVolume: asksPastCaches(request),
      onStalled: () => {
        if (response.headersSent) response.destroy();
        else fail(exchange, new ByteFault('overloaded', 'the snapshot volume does not answer'));
      },
    });
  };

  const run = async (exchange: Exchange, target: string): Promise<void> => {
    try {
      await answer(exchange, target);
    } catch (error) {
      fail(exchange, error);
    }
  };

  return {
    parts,
    handle: (request, response, target) => {
      void run({ request, response }, target);
    },
    close: () => {
      parts.close();
    },
  };
}

/** Whether the client wants no answer from a cache, such as a check of this mirror. Source: RFC 9111, section 5.2.1.4. */
function asksPastCaches({ headers }: IncomingMessage): boolean {
  return (headers['cache-control'] ?? '').split(',').some((each) => each.trim().toLowerCase() === 'no-cache');
}

function planResponse(
  request: IncomingMessage,
  { representation }: SelectedEntry,
  now: number,
): ByteResponsePlan {
  return planByteResponse(
    {
      method: request.method === 'HEAD' ? 'HEAD' : 'GET',
      headers: conditionalHeaders(request),
      nowSeconds: Math.floor(now / 1000),
      boundary: () => randomBytes(16).toString('hex'),
    },
    representation,
  );
}

/** The condition fields, with repetitions: Node keeps only the first of several dates, but a list must be ignored. */
function conditionalHeaders(request: IncomingMessage): ByteRequestHeaders {
  const { headers } = request;
  if (headers['if-modified-since'] === undefined && headers['if-unmodified-since'] === undefined)
    return headers;
  const all = request.headersDistinct;
  return {
    ...headers,
    'if-modified-since': all['if-modified-since']?.join(', '),
    'if-unmodified-since': all['if-unmodified-since']?.join(', '),
  };
}
