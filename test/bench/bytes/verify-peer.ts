import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { caseRequests, type ByteCase, type CaseRequest } from './byte-case.ts';
import type { Corpus } from './corpus.ts';
import type { Peer } from './peer.ts';

/** A cache stores a block at the second request for it, and protects it at the third. */
const TIMES = 3;

/**
 * Sends every request of a case to a peer and compares each answer with the expected one, byte by byte. One-time work
 * of a server, such as verifying or filling a cache, is done after this.
 *
 * @param exact whether all fields of an immutable file are required; some Node servers send weaker ones
 * @returns the requests of the case to this peer
 * @throws Error when an answer is not the expected one
 */
export async function verifyPeer(
  peer: Peer,
  each: ByteCase,
  { corpus, exact }: { readonly corpus: Corpus; readonly exact: boolean },
): Promise<readonly CaseRequest[]> {
  const bytes = corpus.bytes[each.file];
  const url = peer.url(each.file);
  const { headers } = await ask(url, { method: 'HEAD', fields: {} });
  const requests = caseRequests(each, bytes, headers.etag ?? '');
  const complain = (what: string): never => {
    throw new Error(`${peer.name}, ${each.name}: ${what}`);
  };
  for (const [i, request] of Array.from({ length: TIMES }, () => requests)
    .flat()
    .entries()) {
    const answer = await ask(url, request);
    if (answer.status !== request.status) complain(`status ${answer.status} instead of ${request.status}`);
    if (!answer.body.equals(request.body)) complain(`other bytes than asked for, request ${i}`);
    const demanded = demandedFields(request, bytes.length, exact);
    for (const [name, pattern] of Object.entries(demanded)) {
      const value = String(answer.headers[name] ?? '');
      if (!pattern.test(value)) complain(`${name} is "${value}", which does not match ${String(pattern)}`);
    }
  }
  return requests;
}

/** Does not use `fetch`: with a condition, fetch also asks caches to revalidate, and express honours that. */
async function ask(
  url: string,
  { method, fields }: Pick<CaseRequest, 'method' | 'fields'>,
): Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }> {
  const outgoing = httpRequest(url, { method, headers: fields });
  outgoing.end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await buffer(answer) };
}

function demandedFields(
  { status, range }: CaseRequest,
  size: number,
  exact: boolean,
): Readonly<Record<string, RegExp>> {
  const lasting = exact
    ? { etag: /^"[^"]+"$/, 'cache-control': /^(?=.*max-age=31536000)(?=.*immutable)/ }
    : {};
  if (status === 304) return lasting;
  const length = range === null ? size : range.end - range.start;
  return {
    ...lasting,
    // A 206 has shown it.
    ...(exact && range === null ? { 'accept-ranges': /^bytes$/ } : {}),
    'content-length': new RegExp(`^${length}$`),
    ...(range === null
      ? {}
      : { 'content-range': new RegExp(`^bytes ${range.start}-${range.end - 1}/${size}$`) }),
  };
}
