import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Answer } from './answer.ts';

/**
 * Writes an answer, without its body for HEAD; between two pieces it waits for a slow client.
 *
 * @param signal aborted when the client disconnects
 */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
  signal?: AbortSignal,
): Promise<void> {
  const length = body.reduce((sum, piece) => sum + piece.length, 0);
  response.writeHead(status, {
    'x-content-type-options': 'nosniff',
    ...headers,
    // A 304 has none, because clients would take it for the length of the representation (RFC 9110, section 8.6).
    ...(status === 204 || status === 304 ? {} : { 'content-length': length }),
  });
  if (request.method === 'HEAD' || length === 0) {
    response.end();
    return;
  }
  const [only] = body;
  if (body.length === 1 && only !== undefined) {
    response.end(only);
    return;
  }
  for (const piece of body) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response, signal);
  }
  response.end();
}

async function drained(response: ServerResponse, signal: AbortSignal | undefined): Promise<void> {
  try {
    await once(response, 'drain', signal === undefined ? {} : { signal });
  } catch (error) {
    if (!response.destroyed && signal?.aborted !== true) throw error;
  }
}
