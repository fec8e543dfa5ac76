import { canDecode, decodeBody, isDecoderEnd, isDecoderError } from './content-codings.ts';
import { PAST_CACHES, RANGE_REFUSALS, type UpstreamAnswer, type UpstreamHttpClient } from './http-client.ts';
import { headerOf } from './http-failures.ts';
import { quoteText, redactUrl } from '../upstream-location.ts';
import {
  statesDigest,
  UpstreamError,
  type EntryStart,
  type UpstreamBody,
  type UpstreamEntry,
} from '../upstream.ts';

/** `Last-Modified` counts as strong when the answer is at least this much younger (RFC 9110 section 8.8.2.2). */
const STRONG_DATE_AGE_MS = 60_000;
/** What a coding may add to the bytes of a file, beside an eighth of them: headers, names, tables. */
const CODING_EXTRA_BYTES = 64 * 1024;
const CONTENT_RANGE = /^bytes ([0-9]{1,16})-([0-9]{1,16})\/(?:([0-9]{1,16})|\*)$/;

/**
 * Opens the bytes of an entry over HTTP, from an offset where upstream still has the same file.
 *
 * A range is asked for with `If-Range` where there is a strong validator. Without one, it is only asked for where a stated digest
 * tells whether the pieces fit together. A server may answer with less than the range, which is then a beginning of it. Where the answer does not
 * fit the range (another start, another total), or refuses it, the whole file is asked for instead.
 *
 * @param url absolute URL of the file
 * @throws UpstreamError
 */
export async function openHttpEntry(
  client: UpstreamHttpClient,
  entry: UpstreamEntry,
  url: string,
  { start, validator, pastCaches = false }: EntryStart,
  signal: AbortSignal,
): Promise<UpstreamBody> {
  const ask = async (
    headers: Readonly<Record<string, string>>,
    accept: readonly number[],
  ): Promise<UpstreamAnswer> => {
    const all = { ...headers, ...(pastCaches ? PAST_CACHES : {}) };
    try {
      return await client.send({ method: 'GET', url, headers: all, accept, takesAnyCoding: true }, signal);
    } catch (error) {
      if (error instanceof UpstreamError && error.code === 'upstream_closed') throw forbiddenFile(url);
      throw error;
    }
  };
  if (start > 0 && (validator !== null || statesDigest(entry))) {
    const condition = validator === null ? {} : { 'if-range': validator };
    const part = await ask({ range: `bytes=${start}-`, ...condition }, [200, 206, ...RANGE_REFUSALS]);
    if (part.status === 200) return wholeBody(part, entry, pastCaches);
    const body = part.status === 206 ? partialBody(part, start, entry.size) : null;
    if (body !== null) return body;
    part.discard();
  }
  // Some servers answer with a range that nobody asked for, and some proxies with 203: what was asked for is in both.
  const whole = await ask({}, [200, 203, 206]);
  if (whole.status !== 206) return wholeBody(whole, entry, pastCaches);
  const body = partialBody(whole, 0, entry.size);
  if (body !== null) return body;
  whole.discard();
  throw new UpstreamError(
    'upstream_status',
    `${redactUrl(url)} answered with another range (status 206) than the whole file, which was requested`,
  );
}

/** A server that hides what it has not answers 403 for a single file. It says nothing of the others. */
function forbiddenFile(url: string): UpstreamError {
  return new UpstreamError(
    'upstream_forbidden',
    `${redactUrl(url)} is forbidden (status 403): it does not exist, which object stores often answer with 403, or the ` +
      'credentials in the upstream URL may not read it',
  );
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

function wholeBody(answer: UpstreamAnswer, entry: UpstreamEntry, isRepeated: boolean): UpstreamBody {
  const { coding, contentLength } = answer;
  if (coding !== null && !isStoredAsListed(answer, entry, isRepeated))
    return decodedBody(answer, entry, coding);
  return {
    start: 0,
    totalSize: contentLength,
    validator: strongValidator(answer),
    ...(coding === null ? {} : { coding: { name: coding, isDecoded: false } }),
    chunks: completeChunks(answer, contentLength),
  };
}

/**
 * Whether the bytes on the wire are those that the catalog lists, whatever their coding is called. Object stores name the coding in
 * which somebody stored a file, and the catalog lists that file. Without a length, the bytes are decoded first, and taken as they are when
 * they were wrong.
 */
function isStoredAsListed(
  { coding, contentLength }: UpstreamAnswer,
  entry: UpstreamEntry,
  isRepeated: boolean,
): boolean {
  if (coding === null) return true;
  if (!isProven(entry)) return false;
  return contentLength === entry.size || !canDecode(coding) || (contentLength === null && isRepeated);
}

/** Whether the catalog states enough to tell whether decoded bytes are those of the file. */
function isProven(entry: UpstreamEntry): boolean {
  return entry.size !== null && statesDigest(entry);
}

function decodedBody(answer: UpstreamAnswer, entry: UpstreamEntry, coding: string): UpstreamBody {
  const { size } = entry;
  if (size === null || !isProven(entry)) {
    answer.discard();
    throw new UpstreamError(
      'upstream_status',
      `${redactUrl(answer.url)} answered with Content-Encoding ${quoteText(coding)} although identity was requested, and ` +
        'the catalog does not state the size and a digest that would prove the decoded bytes',
    );
  }
  return {
    start: 0,
    totalSize: null,
    validator: null,
    coding: { name: coding, isDecoded: true },
    chunks: decodedChunks(answer, coding, size),
  };
}

async function* decodedChunks(
  answer: UpstreamAnswer,
  coding: string,
  size: number,
): AsyncGenerator<Uint8Array, void> {
  const what = `${redactUrl(answer.url)} answered with Content-Encoding ${quoteText(coding)}`;
  const tooMany = (how: string): UpstreamError =>
    new UpstreamError('size_mismatch', `${what}, ${how} than the ${size} bytes that the catalog states`);
  const most = size + Math.ceil(size / 8) + CODING_EXTRA_BYTES;
  const pieces = boundedChunks(answer, most, () =>
    tooMany(`and sends more than ${most} bytes, which is far more`),
  );
  let left = size;
  try {
    for await (const piece of decodeBody(pieces, coding, size)) {
      left -= piece.length;
      if (left >= 0) yield piece;
    }
  } catch (error) {
    if (isDecoderEnd(error))
      throw new UpstreamError('upstream_truncated', `${what}, and its bytes end too early`, {
        retryable: true,
        cause: error,
      });
    if (!isDecoderError(error)) throw error;
    throw new UpstreamError('digest_mismatch', `${what}, and its bytes are not in that coding`, {
      cause: error,
    });
  }
  if (left < 0) throw tooMany('which decodes to more');
}

/** The bytes on the wire, no more than allowed: members and frames without content decode to nothing, and need not end. */
async function* boundedChunks(
  answer: UpstreamAnswer,
  maxBytes: number,
  tooMany: () => UpstreamError,
): AsyncGenerator<Uint8Array, void> {
  let received = 0;
  for await (const chunk of completeChunks(answer, answer.contentLength)) {
    received += chunk.length;
    if (received > maxBytes) throw tooMany();
    yield chunk;
  }
}

function partialBody(answer: UpstreamAnswer, start: number, size: number | null): UpstreamBody | null {
  const match = CONTENT_RANGE.exec(headerOf(answer.headers, 'content-range') ?? '');
  if (match === null) return null;
  const [, first, last, total] = match;
  const totalSize = total === undefined ? null : Number(total);
  if (Number(first) !== start || Number(last) < start) return null;
  if (totalSize !== null && (Number(last) >= totalSize || (size !== null && totalSize !== size))) return null;
  // A part of an encoded file would be taken for a part of the file; only the same total says that it is one.
  if (answer.coding !== null && (totalSize === null || size === null)) return null;
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
