import { failure, success, type Result } from '../domain/result.ts';
import { readTokenFile, TokenFileError } from '../platform/files/token-file.ts';
import { BEARER_TOKEN_RULE, isBearerToken } from '../platform/http/bearer-token.ts';

/** Environment variables of a program. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads a token from a file or from the environment. It is never taken from the command line, which every user of the machine can
 * read, nor from a URL, which is in reports.
 *
 * @param file of an option; `undefined` for none
 * @param env `PREFIX_TOKEN_FILE` names a file, else `PREFIX_TOKEN` is the token; empty when it is not a source
 * @returns `null` when none is set; or one sentence that says why the token cannot be used and never quotes it
 */
export async function readToken(
  file: string | undefined,
  env: Environment,
  prefix: string,
): Promise<Result<string | null, string>> {
  const path = file ?? env[`${prefix}_TOKEN_FILE`];
  if (path === undefined) {
    const text = env[`${prefix}_TOKEN`] ?? '';
    return text === '' ? success(null) : checkToken(text, `${prefix}_TOKEN`);
  }
  try {
    return checkToken(await readTokenFile(path), path);
  } catch (error) {
    if (error instanceof TokenFileError) return failure(error.message);
    throw error;
  }
}

/** Checks the text of a token. @param origin names the source in the message, which never quotes the token */
export function checkToken(text: string, origin: string): Result<string, string> {
  const token = text.trim();
  return isBearerToken(token)
    ? success(token)
    : failure(`${origin} does not hold a usable token: ${BEARER_TOKEN_RULE}`);
}
