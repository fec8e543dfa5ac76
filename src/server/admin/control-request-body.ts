import type { IncomingMessage } from 'node:http';

import { JsonError } from '../../contract/json/json-error.ts';
import { parseJsonExact } from '../../contract/json/json-exact.ts';
import { isJsonMediaType, JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { readBody } from '../../platform/http/read-body.ts';

/** Largest body of a control action. */
export const CONTROL_BODY_MAX_BYTES = 1024 * 1024;

/** Deepest nesting of a body; the deepest valid one has three levels. */
const MAX_DEPTH = 16;

/**
 * Reads the JSON body of a control action.
 *
 * @returns the result of `parseJsonExact`, or `undefined` when there is no body
 * @throws ServiceError `body_too_large`, `unsupported_media_type`, `invalid_request`
 */
export async function readControlRequestBody(request: IncomingMessage): Promise<unknown> {
  const { headers } = request;
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') throw notJson();
  const body = await readBody(request, CONTROL_BODY_MAX_BYTES);
  if (body.length === 0) return undefined;
  if (!isJsonMediaType(headers['content-type'])) throw notJson();
  return parseBody(body);
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

function notJson(): ServiceError {
  return new ServiceError(
    'unsupported_media_type',
    `The body must be sent as "Content-Type: ${JSON_MEDIA_TYPE}", in UTF-8 and without a content coding.`,
  );
}
