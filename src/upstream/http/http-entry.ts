import type { UpstreamAnswer, UpstreamHttpClient } from './http-client.ts';
import { headerOf } from './http-failures.ts';
import { redactUrl } from '../upstream-location.ts';
import { UpstreamError, type UpstreamBody, type UpstreamEntry } from '../upstream.ts';

/** `Last-Modified` counts as strong when the answer is at least this much younger (RFC 9110 section 8.8.2.2). */
const STRONG_DATE_AGE_MS = 60_000;
const CONTENT_RANGE = /^bytes ([0-9]{1,16})-([0-9]{1,16})\/(?:([0-9]{1,16})|\*)$/;

/**
 * Opens the bytes of an entry over HTTP, from an offset where upstream still has the same file.
 *
 * A range is only asked for together with `If-Range`. Every answer that does not fit the range asked for (416, another
 * start, another total) is dropped and the whole file is asked for instead.
 *
 * @param url absolute URL of the file
 * @throws UpstreamError
 */
export async function openHttpEntry(
  client: UpstreamHttpClient,
  entry: UpstreamEntry,
  url: string,
  resume: { readonly start: number; readonly validator: string | null },
  signal: AbortSignal,
): Promise<UpstreamBody> {
  if (resume.start > 0 && resume.validator !== null) {
    const part = await client.send(
      {
        method: 'GET',
        url,
        headers: { range: `bytes=${resume.start}-`, 'if-range': resume.validator },
        accept: [200, 206, 416],
      },
      signal,
    );
    if (part.status === 200) return wholeBody(part);
    const body = part.status === 206 ? partialBody(part, resume.start, entry.size) : null;
    if (body !== null) return body;
    part.discard();
  }
  return wholeBody(await client.send({ method: 'GET', url, accept: [200] }, signal));
}

/**
 * The validator under which a range of this answer may be asked for later: a strong `ETag`, else a `Last-Modified` that
 * is old enough to be strong, else `null`.
 */
function strongValidator(answer: UpstreamAnswer): string | null {
  const etag = headerOf(answer.headers, 'etag');
  if (etag !== null) return /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(etag) ? etag : null;
  const modified = headerOf(answer.headers, 'last-modified');
  const date = headerOf(answer.headers, 'date');
  if (modified === null || date === null) return null;
  return Date.parse(date) - Date.parse(modified) >= STRONG_DATE_AGE_MS ? modified : null;
}

function wholeBody(answer: UpstreamAnswer): UpstreamBody {
  return {
    start: 0,
    totalSize: answer.contentLength,
    validator: strongValidator(answer),
    chunks: completeChunks(answer, answer.contentLength),
  };
}

function partialBody(answer: UpstreamAnswer, start: number, size: number | null): UpstreamBody | null {
  const match = CONTENT_RANGE.exec(headerOf(answer.headers, 'content-range') ?? '');
  if (match === null) return null;
  const [, first, last, total] = match;
  const totalSize = total === undefined ? null : Number(total);
  if (Number(first) !== start || Number(last) < start) return null;
  if (totalSize !== null && (Number(last) !== totalSize - 1 || (size !== null && totalSize !== size)))
    return null;
  return {
    start,
    totalSize: totalSize ?? size,
    validator: strongValidator(answer),
    chunks: completeChunks(answer, Number(last) - start + 1),
  };
}

async function* completeChunks(
  answer: UpstreamAnswer,
  expected: number | null,
): AsyncGenerator<Uint8Array, void> {
  let received = 0;
  for await (const chunk of answer.chunks()) {
    received += chunk.length;
    yield chunk;
  }
  if (expected !== null && received < expected) {
    throw new UpstreamError(
      'upstream_truncated',
      `${redactUrl(answer.url)} sent ${received} of ${expected} bytes`,
      { retryable: true },
    );
  }
}
