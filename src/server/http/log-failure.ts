import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** Logs why a request failed: at level error if it is this service's fault, at debug if it was rejected. */
export function logFailure(
  logger: Logger,
  error: unknown,
  fields: { readonly route: string; readonly request_id: string },
): void {
  if (!(error instanceof ServiceError) || error.code === 'internal_error') {
    const internal = error instanceof ServiceError ? error.options.internal : undefined;
    logger.error({ ...fields, err: error, internal }, 'request failed');
    return;
  }
  const { reason, internal } = error.options;
  logger.debug({ ...fields, code: error.code, reason, internal }, 'request refused');
}
