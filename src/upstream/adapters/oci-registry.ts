import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  OCI_MANIFEST_MAX_BYTES,
  OCI_MANIFEST_TYPE,
  type Descriptor,
} from '../../contract/formats/bundle-format.ts';
import type { BlobReader } from '../../mirror/bundle/blob-reader.ts';
import { BundleError } from '../../mirror/bundle/bundle-error.ts';
import type { BundleShelf } from '../../mirror/bundle/bundle-source.ts';
import { createWholeBlobs } from '../../mirror/bundle/whole-blobs.ts';
import { openBundle, type Bundle } from '../../mirror/bundle/open-bundle.ts';
import { collectBounded } from '../../platform/memory/collect-bounded.ts';
import { failureOfStatus, headerOf } from '../http/http-failures.ts';
import type { UpstreamAnswer, UpstreamHttpClient } from '../http/http-client.ts';
import { redactUrl } from '../upstream-location.ts';
import { isBearerToken } from '../../platform/http/bearer-token.ts';
import { parseChallenge, type BearerChallenge } from './oci-challenge.ts';

/** Longest answer of a token service, bytes. */
export const TOKEN_MAX_BYTES = 64 * 1024;

const tokenSchema = z.object({
  token: z.string().refine(isBearerToken).optional(),
  access_token: z.string().refine(isBearerToken).optional(),
});

export interface OciRegistryOptions {
  /** Base URL of the registry, without a trailing slash. */
  readonly url: string;
  readonly label: string;
  readonly repository: string;
  readonly tags: readonly string[];
  /** Sends to the registry, with the authorization set last. */
  readonly client: UpstreamHttpClient;
  /** Sets what later requests to the registry carry as `Authorization`. */
  readonly authorize: (authorization: string) => void;
  /**
   * Asks the token service of a challenge, where that is one that may be asked.
   *
   * @param query for the token
   * @returns its answer
   * @throws UpstreamError
   */
  readonly askTokens: (
    challenge: BearerChallenge,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => Promise<Buffer>;
}

/**
 * Makes the shelf over a repository of a registry: each tag holds one bundle. A tag only leads to a digest; everything
 * behind it is read by digest.
 *
 * Source: OCI distribution specification 1.1, "Pull"; for tokens, distribution's "Token Authentication Specification".
 */
export function createRegistryShelf(options: OciRegistryOptions): BundleShelf {
  const { url, label, repository, tags, client } = options;
  const base = `${url}/v2/${repository}`;
  let known = new Map<string, Bundle>();

  const send: UpstreamHttpClient['send'] = async (request, signal) => {
    const first = await client.send({ ...request, accept: [...request.accept, 401] }, signal);
    if (first.status !== 401) return first;
    first.discard();
    // The target of a redirect is not the registry: it must not choose where a password goes.
    const isRegistry = new URL(first.url).origin === new URL(url).origin;
    const challenge = isRegistry ? parseChallenge(fieldsOf(first.headers, 'www-authenticate')) : null;
    if (challenge === null) throw failureOfStatus(401, first.headers, first.url, 0);
    options.authorize(`Bearer ${await fetchToken(options, challenge, signal)}`);
    return await client.send(request, signal);
  };

  const blobs = createWholeBlobs({ label, read: readBlobRange });

  const readerOf = (manifest: Buffer, digest: string): BlobReader => ({
    label,
    read: (blob, start, end, signal) =>
      blob.digest === digest ? once(manifest.subarray(start, end)) : blobs.read(blob, start, end, signal),
  });

  async function* readBlobRange(
    blob: Descriptor,
    start: number,
    end: number,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void> {
    if (start === end) return;
    const range = start === 0 && end === blob.size ? {} : { range: `bytes=${start}-${end - 1}` };
    const request = {
      method: 'GET',
      url: `${base}/blobs/${blob.digest}`,
      headers: range,
      accept: [200, 206],
    } as const;
    const answer = await send(request, signal);
    // A registry may ignore the range.
    let at = answer.status === 206 ? start : 0;
    for await (const chunk of answer.chunks()) {
      const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
      at += chunk.length;
      if (piece.length > 0) yield piece;
      if (at >= end) return;
    }
    throw new BundleError(`${label}: the blob ${blob.digest} ended at ${at} instead of ${end}`);
  }

  const openTag = async (tag: string, signal: AbortSignal): Promise<Bundle | null> => {
    const target = `${base}/manifests/${tag}`;
    const headers = { accept: OCI_MANIFEST_TYPE };
    const head = await send({ method: 'HEAD', url: target, headers, accept: [200, 404] }, signal);
    head.discard();
    if (head.status === 404) return null;
    const held = known.get(headerOf(head.headers, 'docker-content-digest') ?? '');
    if (held !== undefined) return held;
    const answer = await send({ method: 'GET', url: target, headers, accept: [200] }, signal);
    const manifest = await collectAnswer(answer, OCI_MANIFEST_MAX_BYTES, label);
    const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`;
    const described = { mediaType: OCI_MANIFEST_TYPE, digest, size: manifest.length };
    return known.get(digest) ?? (await openBundle(readerOf(manifest, digest), described, signal));
  };

  return {
    label,
    remedy: `push it to ${label} under one of the tags ${tags.join(', ')}`,
    look: async (signal) => {
      const found = new Map<string, Bundle>();
      for (const tag of tags) {
        const bundle = await openTag(tag, signal);
        if (bundle !== null) found.set(bundle.digest, bundle);
      }
      known = found;
      return [...found.values()];
    },
    expect: (packs) => blobs.want(packs),
  };
}

async function fetchToken(
  { repository, askTokens, label }: OciRegistryOptions,
  challenge: BearerChallenge,
  signal: AbortSignal,
): Promise<string> {
  const { realm, service } = challenge;
  const scope = `repository:${repository}:pull`;
  const body = await askTokens(challenge, { ...(service === null ? {} : { service }), scope }, signal);
  let value: unknown = null;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    // Below.
  }
  const parsed = tokenSchema.safeParse(value);
  const token = parsed.success ? (parsed.data.token ?? parsed.data.access_token) : undefined;
  if (token === undefined)
    throw new BundleError(`${label}: the token service ${redactUrl(realm)} gave no usable token`);
  return token;
}

function fieldsOf(headers: UpstreamAnswer['headers'], name: string): string {
  return [headers[name] ?? []].flat().join(', ');
}

/** Reads a whole answer. Throws BundleError when it has more bytes than allowed. */
export async function collectAnswer(
  answer: UpstreamAnswer,
  maxBytes: number,
  label: string,
): Promise<Buffer> {
  return await collectBounded(
    answer.chunks(),
    maxBytes,
    () => new BundleError(`${label} sent an answer of more than ${maxBytes} bytes`),
  );
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield await Promise.resolve(bytes);
}
