import { ServiceError } from '../../contract/problems/service-error.ts';
import { plainAddress } from '../../platform/http/networks.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Exchange } from '../http/exchange.ts';
import { tooManyRequests, type TokenCaller, type TokenVerifier } from '../http/token-verifier.ts';
import type { AdminMetrics } from './admin-metrics.ts';
import { FailedLogins } from './failed-logins.ts';

/**
 * Checks the credentials of a request to the admin surface.
 *
 * @param query of the request, which may carry the token
 * @param surface without a configured token, `read` answers 401 and `control` 403
 * @returns who sent the request
 * @throws ServiceError `not_authenticated` (401), `control_forbidden` (403), `too_many_requests` (429)
 */
export type AdmitCaller = (
  exchange: Exchange,
  query: URLSearchParams,
  surface: 'read' | 'control',
) => Promise<TokenCaller>;

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
 * Makes the check. A source address with too many wrong tokens must wait, and its further failures are not logged one by
 * one. A right token is admitted even then, because all clients behind one ingress share an address.
 */
export function createAdmission({
  tokens,
  metrics,
  clock,
  logger,
}: {
  readonly tokens: TokenVerifier;
  readonly metrics: AdminMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}): AdmitCaller {
  const failures = new FailedLogins();

  const noteWrongToken = (source: string): number | null => {
    const { retryAfter, isFirstBeyond } = failures.record(source, clock.monotonic());
    metrics.loginFailed(retryAfter === null ? 'refused' : 'limited');
    if (isFirstBeyond) logger.warn({ source }, 'too many wrong admin tokens from one address');
    return retryAfter;
  };

  return async ({ request, response }, query, surface) => {
    const authorization = request.headersDistinct['authorization'] ?? [];
    const source = plainAddress(request.socket.remoteAddress ?? 'unknown');
    const outcome = await tokens.verify({ authorization, query, response });
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
    const retryAfter = why === 'refused' || why === 'several' ? noteWrongToken(source) : null;
    throw new ServiceError('not_authenticated', DETAILS[why], {
      internal: `token ${why}`,
      ...(retryAfter === null ? {} : { retryAfter }),
    });
  };
}
