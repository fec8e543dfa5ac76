import { ServiceError } from '../../contract/problems/service-error.ts';
import { reasonOfDamage } from '../../domain/verdict/damage-kind.ts';
import type { Reason } from '../../domain/verdict/reasons.ts';
import { ByteFault } from './byte-fault.ts';

/** Value of `Allow` on the byte path. */
export const ALLOW = 'GET, HEAD, OPTIONS';

const OVERLOAD_RETRY_SECONDS = 1;

/** A 416 with the size of the resource. */
export class RangeRefusal extends ServiceError {
  /** `bytes *` and the size. */
  readonly contentRange: string;

  constructor(contentRange: string) {
    super(
      'range_not_satisfiable',
      'No requested range lies inside the resource; Content-Range has its size.',
    );
    this.contentRange = contentRange;
  }
}

/**
 * The 503 for a release that must not be served now.
 *
 * @param retryAfter seconds
 */
export function notDistributable(detail: string, reason: Reason | null, retryAfter: number): ServiceError {
  return new ServiceError('not_distributable', detail, {
    ...(reason === null ? {} : { reason }),
    retryAfter,
  });
}

/** The header fields that an error needs in addition to its problem body. */
export function problemHeaders(error: unknown): Record<string, string> {
  if (error instanceof RangeRefusal) return { 'content-range': error.contentRange };
  if (error instanceof ServiceError && error.code === 'method_not_allowed') return { allow: ALLOW };
  return {};
}

/**
 * Turns a fault of bytes into its HTTP answer; returns any other error unchanged.
 *
 * @param retryAfter seconds, for bytes that must be repaired first
 */
export function serviceErrorOf(error: unknown, retryAfter: number): unknown {
  if (!(error instanceof ByteFault)) return error;
  if (error.kind === 'overloaded') {
    return new ServiceError('overloaded', 'This server cannot read the resource now; retry.', {
      retryAfter: OVERLOAD_RETRY_SECONDS,
      cause: error,
    });
  }
  const what = error.kind === 'missing' ? 'are not all there' : 'do not match the manifest of its release';
  return notDistributable(
    `The bytes of this resource ${what}, so the server does not send them. Retry after a repair.`,
    reasonOfDamage(error.kind),
    retryAfter,
  );
}
