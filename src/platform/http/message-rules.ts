import type { IncomingMessage } from 'node:http';

// The characters of host and port in RFC 3986, sections 3.2.2 and 3.2.3; nothing here depends on their meaning.
const HOST = /^[A-Za-z0-9._~!$&'()*+,;=:%[\]-]*$/;

/**
 * The reason to reject a message that can be parsed but that other hops may have read differently; `null` if there is
 * none.
 *
 * Source: RFC 9112, sections 2.3, 3.2, 6.1 and 6.3.
 */
export function messageProblem({
  httpVersionMajor,
  httpVersionMinor,
  headers,
  rawHeaders,
}: IncomingMessage): string | null {
  if (httpVersionMajor !== 1) return 'This server supports HTTP/1.1 and HTTP/1.0.';
  const codings = headers['transfer-encoding'];
  if (codings !== undefined) {
    if (httpVersionMinor === 0) return 'HTTP/1.0 has no transfer codings.';
    // Where chunked is not the last coding, the end of the body is not known; any other coding is not understood here.
    if (codings.toLowerCase() !== 'chunked') return 'The only transfer coding of this server is chunked.';
  }
  let hosts = 0;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    hosts += 1;
    if (!HOST.test(rawHeaders[at + 1] ?? '')) return 'The Host field is not a host and a port.';
  }
  if (hosts > 1) return 'The request has more than one Host field.';
  if (hosts === 0 && httpVersionMinor > 0) return 'The request has no Host field.';
  return null;
}
