import { timingSafeEqual } from 'node:crypto';

import { TOKEN_PARAMETER } from '../../contract/operations/query-parser.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { followTokenFile, tokenDigest } from '../../platform/files/token-file.ts';
import { bearerTokenOf } from '../../platform/http/bearer-token.ts';
import { createFailedLoginDelay } from '../../platform/http/failed-login-delay.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SecretMask } from '../../platform/logging/secret-mask.ts';

/** Time between two checks of the files, milliseconds. */
const LOOK_AGAIN_AFTER_MS = 1_000;

/** The result of a check of credentials. */
export type TokenOutcome =
  | {
      readonly ok: true;
      /** First 8 hexadecimal digits of the token's SHA-256, for audit. */ readonly tokenId: string;
    }
  | { readonly ok: false; readonly why: 'unconfigured' | 'missing' | 'refused' | 'several' };

/** The parts of a request that can hold credentials. */
export interface Credentials {
  /** Each `Authorization` field of the request. */
  readonly authorization: readonly string[];
  readonly query: URLSearchParams;
}

/** Checks credentials against token files. */
export interface TokenVerifier {
  /**
   * Checks `Authorization: Bearer` and `svc_token`. An `Authorization` field of another scheme does not count:
   * launchers send one. More than one credential is rejected, even if they are equal. The result for a wrong token is
   * delayed.
   */
  verify(credentials: Credentials): Promise<TokenOutcome>;
}

/** Settings and collaborators of a token verifier. */
export interface TokenVerifierOptions {
  /** One token per file; surrounding white space is ignored. */
  readonly files: readonly string[];
  /** Learns each token, so that it is masked in logs. */
  readonly secrets: Pick<SecretMask, 'learn'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Makes a verifier that reads its files again when they change, so that tokens rotate without a restart. */
export function createTokenVerifier({ files, secrets, clock, logger }: TokenVerifierOptions): TokenVerifier {
  const followed = files.map((file) =>
    followTokenFile(
      file,
      (problem) => {
        logger.warn({ file, err: problem }, `${problem.message}; it admits nobody`);
      },
      secrets.learn,
    ),
  );
  const delayFailedLogin = createFailedLoginDelay();
  let digests: readonly Buffer[] = [];
  let lookedAt = -Infinity;
  let looking: Promise<void> | null = null;

  const look = async (): Promise<void> => {
    const found = await Promise.all(followed.map(async (read) => await read()));
    digests = found.filter((digest) => digest !== null);
    lookedAt = clock.monotonic();
    looking = null;
  };

  return {
    verify: async (credentials) => {
      if (clock.monotonic() - lookedAt >= LOOK_AGAIN_AFTER_MS) await (looking ??= look());
      if (digests.length === 0) return { ok: false, why: 'unconfigured' };
      const [token, ...others] = tokensOf(credentials);
      if (token === undefined) return { ok: false, why: 'missing' };
      const digest = tokenDigest(token);
      let found = false;
      // Every token is compared, so that the time does not reveal which one was close.
      for (const known of digests) found = timingSafeEqual(known, digest) || found;
      if (found && others.length === 0) return { ok: true, tokenId: digest.toString('hex').slice(0, 8) };
      await delayFailedLogin();
      return { ok: false, why: others.length === 0 ? 'refused' : 'several' };
    },
  };
}

function tokensOf({ authorization, query }: Credentials): readonly string[] {
  // A malformed bearer is a credential too: it matches no token, and must not be skipped in favour of another one.
  const bearers = authorization.map(bearerTokenOf).filter((token) => token !== null);
  return [...bearers, ...query.getAll(TOKEN_PARAMETER)];
}
