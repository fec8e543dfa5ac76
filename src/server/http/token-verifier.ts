import { hash, timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';

import { TOKEN_PARAMETER } from '../../contract/operations/query-parser.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { readBoundedFile } from '../../platform/files/files.ts';
import type { Logger } from '../../platform/logging/logging.ts';

const TOKEN_FILE_MAX_BYTES = 4_096;

/** How long the files are taken to be unchanged, milliseconds. */
const LOOK_AGAIN_AFTER_MS = 1_000;

const SCHEME = 'Bearer';
const BEARER = /^Bearer(?: |$)/i;

/** What a request's credentials are worth. */
export type TokenOutcome =
  | {
      readonly ok: true;
      /** First 8 hexadecimal digits of the token's SHA-256, for audit. */ readonly tokenId: string;
    }
  | { readonly ok: false; readonly why: 'unconfigured' | 'missing' | 'refused' };

/** Where the credentials of a request are. */
export interface Credentials {
  /** Each `Authorization` field of the request. */
  readonly authorization: readonly string[];
  readonly query: URLSearchParams;
}

/** Checks credentials against token files. */
export interface TokenVerifier {
  /**
   * Looks at `Authorization: Bearer` and at `svc_token`. An `Authorization` field of another scheme is no credential:
   * launchers send one. More than one credential is refused, also when they are equal.
   */
  verify(credentials: Credentials): Promise<TokenOutcome>;
}

/** What {@link createTokenVerifier} needs. */
export interface TokenVerifierOptions {
  /** One token each; surrounding white space does not count. */
  readonly files: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Makes a verifier that reads its files again when they change, so that tokens rotate without a restart. */
export function createTokenVerifier({ files, clock, logger }: TokenVerifierOptions): TokenVerifier {
  const digests = new Map<string, { readonly stamp: string; readonly digest: Buffer }>();
  const troubled = new Set<string>();
  let lookedAt = -Infinity;
  let looking: Promise<void> | null = null;

  const readToken = async (file: string): Promise<void> => {
    try {
      const { mtimeMs, size, ino } = await stat(file);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      if (digests.get(file)?.stamp === stamp) return;
      const token = (await readBoundedFile(file, TOKEN_FILE_MAX_BYTES)).toString('utf8').trim();
      if (token === '') {
        digests.delete(file);
        warnOnce(file, null, 'token file is empty; it opens nothing');
      } else {
        digests.set(file, { stamp, digest: sha256(token) });
        troubled.delete(file);
      }
    } catch (error) {
      digests.delete(file);
      warnOnce(file, error, 'token file cannot be read; it opens nothing');
    }
  };

  /** Files are looked at every second; one trouble is told once. */
  const warnOnce = (file: string, error: unknown, message: string): void => {
    if (!troubled.has(file)) logger.warn({ file, ...(error === null ? {} : { err: error }) }, message);
    troubled.add(file);
  };

  const refresh = async (): Promise<void> => {
    looking ??= Promise.all(files.map(readToken)).then(() => {
      lookedAt = clock.monotonic();
      looking = null;
    });
    await looking;
  };

  return {
    verify: async (credentials) => {
      if (clock.monotonic() - lookedAt >= LOOK_AGAIN_AFTER_MS) await refresh();
      if (digests.size === 0) return { ok: false, why: 'unconfigured' };
      const [token, ...others] = tokensOf(credentials);
      if (token === undefined) return { ok: false, why: 'missing' };
      const digest = sha256(token);
      let matches = others.length === 0;
      let found = false;
      // Every token is compared, so that the time taken does not tell which one was near.
      for (const known of digests.values()) found = timingSafeEqual(known.digest, digest) || found;
      matches &&= found;
      return matches
        ? { ok: true, tokenId: digest.toString('hex').slice(0, 8) }
        : { ok: false, why: 'refused' };
    },
  };
}

function tokensOf({ authorization, query }: Credentials): readonly string[] {
  // A malformed bearer is a credential too: it matches no token, and must not be passed over for another one.
  const bearers = authorization
    .filter((value) => BEARER.test(value))
    .map((value) => value.slice(SCHEME.length).trim());
  return [...bearers, ...query.getAll(TOKEN_PARAMETER)];
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
