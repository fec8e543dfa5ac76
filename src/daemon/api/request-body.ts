import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { readBody } from '../../platform/http/read-body.ts';

/** Largest request body. */
export const BODY_MAX_BYTES = 1024 * 1024;

const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

/**
 * Reads the body of a request: JSON text in UTF-8, without a content coding.
 *
 * @returns `null` when there is none
 * @throws ServiceError `body_too_large`, `unsupported_media_type`, `invalid_request`
 */
export async function readRequestBody(request: IncomingMessage): Promise<string | null> {
  const bytes = await readBody(request, BODY_MAX_BYTES);
  if (bytes.length === 0) return null;
  const type = request.headers['content-type'];
  const coding = request.headers['content-encoding'];
  if (type === undefined || !JSON_TYPE.test(type) || (coding !== undefined && coding !== 'identity')) {
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
