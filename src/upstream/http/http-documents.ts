import { isRecord } from '../../domain/is-record.ts';
import { SERVER_INFO_MAX_BYTES } from '../../domain/release/server-info-document.ts';
import { parseSmallJson, readSmallDocument } from '../catalog-readers/catalog-document.ts';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import { PAST_CACHES, type UpstreamHttpClient } from './http-client.ts';
import { redactUrl } from '../upstream-location.ts';
import { UpstreamError, type UpstreamHealth } from '../upstream.ts';

/**
 * Fetches a server-info document.
 *
 * @param stated its digest, where the catalog states one; other bytes are asked for again past caches
 * @returns its bytes as sent, known to be a JSON object
 * @throws UpstreamError
 */
export async function fetchServerInfo(
  client: UpstreamHttpClient,
  url: string,
  signal: AbortSignal,
  stated: string | null = null,
): Promise<Buffer> {
  const label = redactUrl(url);
  const get = async (headers: Readonly<Record<string, string>>): Promise<Buffer> => {
    const answer = await client.send({ method: 'GET', url, headers, accept: [200] }, signal);
    return await readSmallDocument(answer.chunks(), label, SERVER_INFO_MAX_BYTES);
  };
  const isStated = (bytes: Buffer): boolean => stated === null || blake3Hex(bytes) === stated;
  const first = await get({});
  const bytes = isStated(first) ? first : await get(PAST_CACHES);
  if (!isStated(bytes)) {
    throw new UpstreamError(
      'digest_mismatch',
      `${label}: the catalog states blake3 ${stated}, the bytes have ${blake3Hex(bytes)}; a cache in between may hold an old copy`,
    );
  }
  checkServerInfo(bytes, label);
  return bytes;
}

/**
 * Checks that bytes are a server-info document as far as every kind of upstream needs it: a JSON object.
 *
 * @returns the parsed object
 * @throws UpstreamError `catalog_invalid`
 */
export function checkServerInfo(bytes: Uint8Array, label: string): Readonly<Record<string, unknown>> {
  const value = parseSmallJson(bytes, label);
  if (!isRecord(value)) {
    throw new UpstreamError('catalog_invalid', `${label} must be a JSON object (a server-info document)`);
  }
  return value;
}

/**
 * Checks with one `HEAD` whether a document answers. Never throws.
 *
 * @param explain adds what to do about a failure
 */
export async function probeUrl(
  client: UpstreamHttpClient,
  url: string,
  signal: AbortSignal,
  explain: (error: unknown) => unknown = (error) => error,
): Promise<UpstreamHealth> {
  try {
    // Servers that do not support HEAD answer 405 or 501: the document may exist anyway.
    const answer = await client.send({ method: 'HEAD', url, accept: [200, 204, 405, 501] }, signal);
    answer.discard();
    return { ok: true, message: `${redactUrl(url)} answers` };
  } catch (thrown) {
    const error = explain(thrown);
    return {
      ok: false,
      message: error instanceof Error ? error.message : `${redactUrl(url)} cannot be reached`,
    };
  }
}
