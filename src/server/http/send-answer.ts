import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Answer } from './answer.ts';

/**
 * Writes an answer, without its body for HEAD; a slow client is waited for between two pieces.
 *
 * @param signal aborted when the client has gone
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
    // A 304 has none: clients would treat it as that of the representation (RFC 9110, section 8.6).
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
