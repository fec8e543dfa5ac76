import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import {
  tooManyRequests,
  type Credentials,
  type TokenCaller,
  type TokenVerifier,
} from '../http/token-verifier.ts';
import type { AdminMetrics } from './admin-metrics.ts';
import { createFailedLogins } from './failed-logins.ts';

/** Credentials and source address of a request. */
export interface AdminVisitor extends Credentials {
  /** Address that the request came from. */
  readonly source: string;
}

/** Checks the credentials of requests to the admin surface. */
export interface AdminGate {
  /**
   * Checks the credentials of a request.
   *
   * @param surface without a configured token, `read` answers 401 and `control` 403
   * @returns who sent the request
   * @throws ServiceError `not_authenticated` (401), `control_forbidden` (403), `too_many_requests` (429)
   */
  admit(visitor: AdminVisitor, surface: 'read' | 'control'): Promise<TokenCaller>;
}

export interface AdminGateOptions {
  readonly tokens: TokenVerifier;
  readonly metrics: Pick<AdminMetrics, 'loginFailed'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const DETAILS: Readonly<Record<'unconfigured' | 'missing' | 'refused' | 'several', string>> = {
  unconfigured:
    'No admin token is configured on this server, so nobody is admitted: set admin.tokenFiles or auth.tokens, and check its log for files that cannot be read.',
  missing: 'An admin token is required: send it as "Authorization: Bearer" or as the svc_token parameter.',
  refused:
    'The token is not an admin token of this server; its log names each token file that it cannot read.',
  several:
    'More than one token was sent: send one, as "Authorization: Bearer" or as the svc_token parameter.',
};

/**
 * Makes the gate. A source address with too many wrong tokens must wait, and its further failures are not logged one by
 * one. A right token is admitted even then, because all clients behind one ingress share an address.
 */
export function createAdminGate({ tokens, metrics, clock, logger }: AdminGateOptions): AdminGate {
  const failures = createFailedLogins();

  const noteWrongToken = (source: string): number | null => {
    const { retryAfter, isFirstBeyond } = failures.record(source, clock.monotonic());
    metrics.loginFailed(retryAfter === null ? 'refused' : 'limited');
    if (isFirstBeyond) logger.warn({ source }, 'too many wrong admin tokens from one address');
    return retryAfter;
  };

  return {
    admit: async (visitor, surface) => {
      const outcome = await tokens.verify(visitor);
      if (outcome.ok) return outcome.caller;
      if (outcome.why === 'limited') throw tooManyRequests(outcome.refusal);
      const { why } = outcome;
      if (why === 'unconfigured' || why === 'missing') metrics.loginFailed(why);
      if (why === 'unconfigured' && surface === 'control') {
        throw new ServiceError(
          'control_forbidden',
          'Control is not available: no admin token is configured on this server.',
        );
      }
      const retryAfter = why === 'refused' || why === 'several' ? noteWrongToken(visitor.source) : null;
      throw new ServiceError('not_authenticated', DETAILS[why], {
        internal: `token ${why}`,
        ...(retryAfter === null ? {} : { retryAfter }),
      });
    },
  };
}
