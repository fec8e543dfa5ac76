import type { IncomingMessage } from 'node:http';

import { JsonError } from '../../contract/json-error.ts';
import { parseJsonExact } from '../../contract/json-exact.ts';
import { ServiceError } from '../../contract/service-error.ts';

/** Largest body of a control action. */
export const CONTROL_BODY_MAX_BYTES = 1024 * 1024;

/** Deepest nesting of a body; the deepest valid one has three levels. */
const MAX_DEPTH = 16;
const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

/**
 * Reads the JSON body of a control action.
 *
 * @returns what `parseJsonExact` gives, or `undefined` when there is no body
 * @throws ServiceError `body_too_large`, `unsupported_media_type`, `invalid_request`
 */
export async function readControlRequestBody(request: IncomingMessage): Promise<unknown> {
  const { headers } = request;
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') throw notJson();
  if (Number(headers['content-length'] ?? 0) > CONTROL_BODY_MAX_BYTES) throw tooLarge();
  const body = await readBytes(request);
  if (body.length === 0) return undefined;
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) throw notJson();
  return parseBody(body);
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // Leaving the loop early must not destroy the request, or its answer could not be sent; the server drops the rest.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > CONTROL_BODY_MAX_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof ServiceError) {
      request.resume();
      throw cause;
    }
    throw new ServiceError('invalid_request', 'The body ended before it was complete.', { cause });
  }
  return Buffer.concat(chunks, size);
}

function parseBody(body: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    return parseJsonExact(text, { strict: true, maxDepth: MAX_DEPTH, maxBytes: CONTROL_BODY_MAX_BYTES });
  } catch (cause) {
    const message = cause instanceof JsonError ? cause.message : 'the body is not UTF-8';
    throw new ServiceError('invalid_request', 'The body is not acceptable JSON; "errors" says why.', {
      errors: [{ pointer: '', message }],
      cause,
    });
  }
}

function tooLarge(): ServiceError {
  return new ServiceError('body_too_large', `The body exceeds ${CONTROL_BODY_MAX_BYTES} bytes.`);
}

function notJson(): ServiceError {
  return new ServiceError(
    'unsupported_media_type',
    'The body must be sent as "Content-Type: application/json", in UTF-8 and without a content coding.',
  );
}
