import { ServiceError } from '../problems/service-error.ts';

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Parses the Idempotency-Key header of a control call.
 *
 * @param header as `node:http` gives it; repeated headers come joined by a comma and a space, which no key may hold
 * @returns `null` when there is none
 * @throws ServiceError `invalid_request`
 */
export function parseIdempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && IDEMPOTENCY_KEY.test(header)) return header;
  throw new ServiceError('invalid_request', 'The Idempotency-Key header is malformed.', {
    errors: [{ pointer: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters, once' }],
  });
}
