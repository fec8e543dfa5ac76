import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { collectBounded } from '../memory/collect-bounded.ts';

/**
 * Reads the body of a request whole.
 *
 * Beyond the limit the rest is dropped as it comes, and the request is left alive, so that its answer can be sent and
 * read; the time limit of the request ends one that never stops.
 *
 * @throws ServiceError `body_too_large`, or `invalid_request` when it ends early
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    return await collectBounded(chunks, maxBytes, () => tooLarge(maxBytes));
  } catch (cause) {
    if (cause instanceof ServiceError) {
      request.resume();
      throw cause;
    }
    throw new ServiceError('invalid_request', 'The body ended before it was complete.', { cause });
  }
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('body_too_large', `The body exceeds ${maxBytes} bytes.`);
}
