import { timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';

import type { Caller } from '../../contract/actions/control-scopes.ts';
import { CONTROL_SCOPES } from '../../contract/schemas/vocabulary.ts';
import { TOKEN_PARAMETER } from '../../contract/operations/query-parser.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { followTokenFile, tokenDigest } from '../../platform/files/token-file.ts';
import { bearerTokenOf } from '../../platform/http/bearer-token.ts';
import { createFailedLoginDelay } from '../../platform/http/failed-login-delay.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SecretMask } from '../../platform/logging/secret-mask.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { TokenSource } from '../config/token-sources.ts';
import { TokenAllowance, type TokenRefusal } from './token-limits.ts';
import type { CountLimited } from './token-metrics.ts';

const LOOK_AGAIN_AFTER_MS = 1_000;

/** The holder of an admin token. The id is the configured one, else the first 8 hexadecimal digits of the token's SHA-256. */
export interface TokenCaller extends Caller {
  readonly tokenId: string;
}

type TokenOutcome =
  | {
      readonly ok: true;
      readonly caller: TokenCaller;
    }
  | { readonly ok: false; readonly why: 'unconfigured' | 'missing' | 'refused' | 'several' }
  /** The token is right, and its holder asks for more than it may. */
  | { readonly ok: false; readonly why: 'limited'; readonly refusal: TokenRefusal };

/** The parts of a request that can hold credentials. */
export interface Credentials {
  readonly authorization: readonly string[];
  readonly query: URLSearchParams;
  /** The answer to the request, which counts for the limits of the token until it has ended. */
  readonly response: ServerResponse;
}

/** Checks credentials against token files. */
export interface TokenVerifier {
  /**
   * Checks `Authorization: Bearer` and `svc_token`. An `Authorization` field of another scheme does not count:
   * launchers send one. The field and the parameter may carry the same token; two different tokens are rejected, and so is
   * more than one of either. The result for a wrong token is delayed. A right token whose limits are reached is not admitted.
   */
  verify(credentials: Credentials): Promise<TokenOutcome>;
}

/** Makes a verifier that reads its files again when they change, so that tokens rotate without a restart. */
export function createTokenVerifier({
  sources,
  secrets,
  countLimited,
  clock,
  logger,
}: {
  readonly sources: readonly TokenSource[];
  readonly secrets: SecretMask;
  readonly countLimited: CountLimited;
  readonly clock: Clock;
  readonly logger: Logger;
}): TokenVerifier {
  const followed = sources.map((source) => ({
    source,
    // A token that rotates keeps its allowance.
    allowance: source.limits === null ? null : new TokenAllowance(source.limits),
    read: followTokenFile(
      source.file,
      (problem) => {
        logger.warn({ file: source.file, err: problem }, `${problem.message}; it admits nobody`);
      },
      secrets.learn,
    ),
  }));
  const delayFailedLogin = createFailedLoginDelay();
  let known: readonly KnownToken[] = [];
  let lookedAt = -Infinity;
  let looking: Promise<void> | null = null;

  const look = async (): Promise<void> => {
    const found = await Promise.all(
      followed.map(async ({ source, allowance, read }) => ({ source, allowance, digest: await read() })),
    );
    known = found.flatMap(({ digest, ...one }) => (digest === null ? [] : [{ ...one, digest }]));
    lookedAt = clock.monotonic();
    looking = null;
  };

  return {
    verify: async (credentials) => {
      if (clock.monotonic() - lookedAt >= LOOK_AGAIN_AFTER_MS) await (looking ??= look());
      if (known.length === 0) return { ok: false, why: 'unconfigured' };
      const { bearers, parameters } = tokensOf(credentials);
      const [token, other = token] = [...bearers, ...parameters];
      if (token === undefined) return { ok: false, why: 'missing' };
      const isOne = bearers.length <= 1 && parameters.length <= 1 && other === token;
      const digest = tokenDigest(token);
      // Every token is compared, so that the time does not reveal which one was close.
      const equal = known.filter((each) => timingSafeEqual(each.digest, digest));
      if (equal.length > 0 && isOne) {
        const refusal = enter(equal, credentials.response, clock.monotonic());
        if (refusal === null) return { ok: true, caller: callerOf(digest, equal) };
        countLimited(equal.find(({ source }) => source.id !== null)?.source.id ?? null, refusal.limit);
        return { ok: false, why: 'limited', refusal };
      }
      await delayFailedLogin();
      return { ok: false, why: isOne ? 'refused' : 'several' };
    },
  };
}

interface KnownToken {
  readonly source: TokenSource;
  readonly allowance: TokenAllowance | null;
  readonly digest: Buffer;
}

/** Counts a request for all limits of its token, or for none when one of them is reached. */
function enter(
  known: readonly KnownToken[],
  response: Credentials['response'],
  now: number,
): TokenRefusal | null {
  const allowances = known.flatMap(({ allowance }) => allowance ?? []);
  if (response.closed) return null;
  for (const allowance of allowances) {
    const refusal = allowance.refusal(now);
    if (refusal !== null) return refusal;
  }
  for (const allowance of allowances) response.once('close', allowance.admit(now));
  return null;
}

/** A token that is in several files has the least of their rights. */
function callerOf(digest: Buffer, known: readonly KnownToken[]): TokenCaller {
  const limits = known.flatMap(({ source }) => (source.allow === null ? [] : [source.allow]));
  const id = known.find(({ source }) => source.id !== null)?.source.id;
  return {
    tokenId: id ?? digest.toString('hex').slice(0, 8),
    allow:
      limits.length === 0
        ? null
        : CONTROL_SCOPES.filter((scope) => limits.every((allow) => allow.includes(scope))),
  };
}

function tokensOf({ authorization, query }: Credentials): {
  readonly bearers: readonly string[];
  readonly parameters: readonly string[];
} {
  // A malformed bearer is a credential too: it matches no token, and must not be skipped in favour of another one.
  const bearers = authorization.map(bearerTokenOf).filter((token) => token !== null);
  return { bearers, parameters: query.getAll(TOKEN_PARAMETER) };
}

/** The 429 for a request beyond the limits of its token. */
export function tooManyRequests({ limit, retryAfter }: TokenRefusal): ServiceError {
  return new ServiceError(
    'too_many_requests',
    limit === 'rate'
      ? 'This token sends more requests than it may. Retry after the time in "Retry-After".'
      : 'This token has as many requests in progress as it may. Wait until one of them has ended.',
    { retryAfter },
  );
}
