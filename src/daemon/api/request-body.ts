import type { IncomingMessage } from 'node:http';
import { JsonError } from '../../contract/json/json-error.ts';
import { parseJsonExact } from '../../contract/json/json-exact.ts';
import { isJsonMediaType } from '../../contract/json/media-types.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { readBody } from '../../platform/http/read-body.ts';

const BODY_MAX_BYTES = 1024 * 1024;

const BODY_MAX_DEPTH = 16;

/**
 * Reads the body of a request: JSON text in UTF-8, without a content coding.
 *
 * @returns `null` when the request has no body
 * @throws ServiceError `body_too_large`, `unsupported_media_type`, `invalid_request`
 */
export async function readRequestBody(request: IncomingMessage): Promise<string | null> {
  const bytes = await readBody(request, BODY_MAX_BYTES);
  if (bytes.length === 0) return null;
  const type = request.headers['content-type'];
  const coding = request.headers['content-encoding'];
  if (!isJsonMediaType(type) || (coding !== undefined && coding !== 'identity')) {
    throw new ServiceError(
      'unsupported_media_type',
      'the body must be sent as "Content-Type: application/json", in UTF-8 and without a content coding',
    );
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new ServiceError('invalid_request', 'the body is not valid UTF-8', {
      errors: [{ pointer: '', message: 'must be UTF-8' }],
      cause,
    });
  }
}

/**
 * Parses the text of a body: exact integers, no repeated keys, bounded depth.
 *
 * @param text the result of {@link readRequestBody}
 * @returns the value; `undefined` when there is no body
 * @throws ServiceError `invalid_request`
 */
export function parseJsonBody(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return parseJsonExact(text, { strict: true, maxDepth: BODY_MAX_DEPTH, maxBytes: BODY_MAX_BYTES });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new ServiceError('invalid_request', `the body is not acceptable JSON: ${error.message}`, {
      errors: [{ pointer: '', message: error.message }],
      cause: error,
    });
  }
}
