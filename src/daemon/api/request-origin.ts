import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { isLoopbackHost } from '../../platform/http/loopback.ts';

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
