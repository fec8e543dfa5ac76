import { timingSafeEqual } from 'node:crypto';
import { followTokenFile, tokenDigest } from '../../platform/files/token-file.ts';
import { bearerTokenOf, isBearerToken } from '../../platform/http/bearer-token.ts';
import { createFailedLoginDelay } from '../../platform/http/failed-login-delay.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SecretMask } from '../../platform/logging/secret-mask.ts';
import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { isLoopbackHost } from '../../platform/http/loopback.ts';

/**
 * Creates the check of the shared token. The file is read again when it changes, so that the token can be rotated.
 * While the file is empty or cannot be read, every request is refused.
 *
 * @param tokenFile returns the path of the file that is configured now, or `null` when no token is required
 * @param secrets learns each token, so that it is masked in logs and records
 * @returns whether the value of an `Authorization` header is the token, compared in constant time over digests; the
 *   result for a wrong token is delayed
 *
 * Source: RFC 6750, section 2.1.
 */
export function createTokenCheck(
  tokenFile: () => string | null,
  logger: Logger,
  secrets: SecretMask,
): (authorization: string | undefined) => Promise<boolean> {
  const delayFailedLogin = createFailedLoginDelay();
  let path: string | null = null;
  let readDigest = async (): Promise<Buffer | null> => null;

  const follow = (file: string): void => {
    path = file;
    readDigest = followTokenFile(
      file,
      (problem) => {
        logger.error({ file, err: problem }, `${problem.message}; every request is refused`);
      },
      secrets.learn,
    );
  };

  return async (authorization) => {
    const file = tokenFile();
    if (file === null) return true;
    if (file !== path) follow(file);
    const expected = await readDigest();
    const sent = bearerTokenOf(authorization ?? '') ?? '';
    const presented = isBearerToken(sent) ? sent : '';
    if (expected !== null && timingSafeEqual(expected, tokenDigest(presented))) return true;
    if (presented !== '') await delayFailedLogin();
    return false;
  };
}

/** Host and port of a `Host` field. Source: RFC 9110, section 7.2; RFC 3986, section 3.2.2. */
const HOST = /^(?<name>\[[0-9a-f:.]+\]|[^:]+)(?::\d{0,5})?$/;

/**
 * Refuses what a page in a browser can send to this address. A page whose name was resolved to loopback (DNS rebinding)
 * sends its own name as the host; every page of a browser sends `Sec-Fetch-Site`, which it cannot remove.
 *
 * @param allowedHosts lower-case names or addresses besides those of loopback
 * @throws ServiceError `control_forbidden`
 *
 * Source: Fetch Metadata Request Headers (W3C), section 2.3.
 */
export function refuseBrowserPages(headers: IncomingHttpHeaders, allowedHosts: readonly string[]): void {
  const name = HOST.exec(headers.host?.toLowerCase() ?? '')?.groups?.['name'];
  if (name === undefined || !(isLoopbackHost(name) || allowedHosts.includes(name))) {
    throw new ServiceError(
      'control_forbidden',
      'the host of the request is not allowed; use localhost or 127.0.0.1, or add the host to listen.allowedHosts',
    );
  }
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'none') {
    throw new ServiceError('control_forbidden', 'requests from pages in a browser are rejected');
  }
}
