import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a page of another site made a browser send this request. Clients that are no browsers send neither header.
 *
 * @param headers of the request
 * @param publicBaseUrl whose origin is this service
 *
 * Source: Fetch Metadata Request Headers (W3C), section 2.3; RFC 6454, section 7 (Origin).
 */
export function isCrossSite(headers: IncomingHttpHeaders, publicBaseUrl: string): boolean {
  const { origin, host } = headers;
  if (origin !== undefined && origin === new URL(publicBaseUrl).origin) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'cross-site';
  if (origin === undefined) return false;
  // Older browsers: a page that this server sent under another name of its own has that name as its origin.
  return !URL.canParse(origin) || host === undefined || new URL(origin).host !== host.toLowerCase();
}
