import { failure, success, type Result } from '../../../domain/result.ts';
import { readTokenFile, TokenFileError } from '../../../platform/files/token-file.ts';
import { BEARER_TOKEN_RULE, isBearerToken } from '../../../platform/http/bearer-token.ts';

/** Environment variables of the program. */
export type VerifyEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the token of a mirror from a file or from the environment. It is never taken from the command line, which every
 * user of the machine can read, nor from the URL, which stands in reports.
 *
 * @param file `--token-file`; without it the file of SLIPWAY_VERIFY_TOKEN_FILE, else the token in SLIPWAY_VERIFY_TOKEN
 * @param environment empty when it is not a source
 * @returns `null` when none is set; or one sentence that says why the token cannot be used and never quotes it
 */
export async function readMirrorToken(
  file: string | null,
  environment: VerifyEnvironment,
): Promise<Result<string | null, string>> {
  const path = file ?? environment['SLIPWAY_VERIFY_TOKEN_FILE'];
  if (path === undefined) {
    const text = environment['SLIPWAY_VERIFY_TOKEN'] ?? '';
    return text === '' ? success(null) : checkToken(text, 'SLIPWAY_VERIFY_TOKEN');
  }
  try {
    return checkToken(await readTokenFile(path), path);
  } catch (error) {
    if (error instanceof TokenFileError) return failure(error.message);
    throw error;
  }
}

function checkToken(text: string, origin: string): Result<string, string> {
  const token = text.trim();
  return isBearerToken(token)
    ? success(token)
    : failure(`${origin} does not hold a usable token: ${BEARER_TOKEN_RULE}`);
}
