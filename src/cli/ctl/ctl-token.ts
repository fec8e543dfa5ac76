import { readTokenFile, TokenFileError } from '../../platform/files/token-file.ts';
import { BEARER_TOKEN_RULE, isBearerToken } from '../../platform/http/bearer-token.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';

/** Possible sources of the token; the first one that is set is used. */
export interface TokenSources {
  /** `--token-file`. */
  readonly file: string | undefined;
  /** A token of the file of contexts. */
  readonly stored: { readonly text: string; readonly origin: string } | null;
  /** The environment; `null` when it is not a source, because its token belongs to another address. */
  readonly env: Readonly<Record<string, string | undefined>> | null;
}

/**
 * Reads the admin token from a file or from the environment. It is never taken from the command line, which every user
 * of the machine can read.
 *
 * @returns `null` when none is set; commands that need no token still work
 * @throws CtlFailure
 */
export async function readCtlToken({ file, stored, env }: TokenSources): Promise<string | null> {
  if (file === undefined && stored !== null) return checkToken(stored.text, stored.origin);
  const path = file ?? env?.['SLIPWAY_CTL_TOKEN_FILE'];
  if (path === undefined) {
    const text = env?.['SLIPWAY_CTL_TOKEN'];
    return text === undefined || text === '' ? null : checkToken(text, 'SLIPWAY_CTL_TOKEN');
  }
  try {
    return checkToken(await readTokenFile(path), path);
  } catch (cause) {
    if (!(cause instanceof TokenFileError)) throw cause;
    throw new CtlFailure(CTL_EXITS.usage, cause.message, { cause });
  }
}

/**
 * Checks the text of a token.
 *
 * @param origin names the source in the message; the token is never quoted
 * @throws CtlFailure
 */
export function checkToken(text: string, origin: string): string {
  const token = text.trim();
  if (isBearerToken(token)) return token;
  throw new CtlFailure(CTL_EXITS.usage, `${origin} does not hold a usable token: ${BEARER_TOKEN_RULE}`);
}
