import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a browser sent this request for a page of another site. Clients other than browsers send neither header.
 *
 * @param headers of the request
 * @param publicBaseUrl its origin is the origin of this service
 *
 * Source: Fetch Metadata Request Headers (W3C), section 2.3; RFC 6454, section 7 (Origin).
 */
export function isCrossSite(headers: IncomingHttpHeaders, publicBaseUrl: string): boolean {
  const { origin, host } = headers;
  if (origin !== undefined && origin === new URL(publicBaseUrl).origin) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'cross-site';
  if (origin === undefined) return false;
  // Older browsers: the origin of a page that this server sent under another of its host names is that host name.
  return !URL.canParse(origin) || host === undefined || new URL(origin).host !== host.toLowerCase();
}
