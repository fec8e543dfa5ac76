import { createHash } from 'node:crypto';
import {
  OCI_MANIFEST_MAX_BYTES,
  OCI_MANIFEST_TYPE,
  type Descriptor,
} from '../../contract/formats/bundle-format.ts';
import type { BlobReader } from '../../mirror/bundle/blob-reader.ts';
import { BundleError } from '../../mirror/bundle/bundle-error.ts';
import type { BundleShelf } from '../../mirror/bundle/bundle-source.ts';
import { createWholeBlobs, type OpenedBlob } from '../../mirror/bundle/whole-blobs.ts';
import { openBundle, type Bundle } from '../../mirror/bundle/open-bundle.ts';
import { collectBounded } from '../../platform/memory/collect-bounded.ts';
import { headerOf } from '../http/http-failures.ts';
import { PAST_CACHES, RANGE_REFUSALS, type UpstreamAnswer } from '../http/http-client.ts';
import type { RegistryAccess } from './oci-access.ts';
import { ANY_MANIFEST, leadOf } from './oci-manifests.ts';

/** Longest answer of a token service, bytes. */
export const TOKEN_MAX_BYTES = 64 * 1024;

export interface OciRegistryOptions {
  /** Base URL of the registry, without a trailing slash. */
  readonly url: string;
  readonly label: string;
  readonly repository: string;
  readonly tags: readonly string[];
  readonly access: RegistryAccess;
}

/**
 * Makes the shelf over a repository of a registry: each tag holds one bundle. A tag only leads to a digest; everything
 * behind it is read by digest.
 *
 * Source: OCI distribution specification 1.1, "Pull".
 */
export function createRegistryShelf(options: OciRegistryOptions): BundleShelf {
  const { label, tags } = options;
  const distrusted = new Set<string>();
  /** Packs that were forgotten since the last look: what is held of them, or on its way, came past caches. */
  const renewed = new Set<string>();
  const blobs = createWholeBlobs({
    label,
    open: async (blob, start, end, signal) =>
      await openBlob(options, { blob, start, end, pastCaches: distrusted.has(blob.digest) }, signal),
  });
  const openTag = createTagReader(options, blobs);
  return {
    label,
    remedy: `push it to ${label} under one of the tags ${tags.join(', ')}`,
    look: async (signal) => {
      renewed.clear();
      const found = new Map<string, Bundle>();
      for (const tag of tags) {
        const bundle = await openTag(tag, signal);
        // Tags can lead to the same bundle, one of them through an index.
        if (bundle !== null) found.set(bundle.digest, bundle);
      }
      return [...found.values()];
    },
    expect: (packs) => {
      if (packs.size === 0) distrusted.clear();
      renewed.clear();
      blobs.want(packs);
    },
    distrust: (packs) => {
      for (const pack of packs) {
        // Each file of a wrong pack is wrong; one of them is enough.
        if (renewed.has(pack)) continue;
        renewed.add(pack);
        distrusted.add(pack);
        blobs.forget(pack);
      }
    },
  };
}

interface BlobRange {
  readonly blob: Descriptor;
  readonly start: number;
  readonly end: number;
  readonly pastCaches: boolean;
}

/** Asks for a part of a blob. A registry that answers with another part, or refuses, is asked for the whole one. */
async function openBlob(
  options: OciRegistryOptions,
  { blob, start, end, pastCaches }: BlobRange,
  signal: AbortSignal,
): Promise<OpenedBlob> {
  const { url, label, repository, access } = options;
  const target = `${url}/v2/${repository}/blobs/${blob.digest}`;
  const request = { method: 'GET', url: target, isKnown: true } as const;
  const headers = pastCaches ? PAST_CACHES : {};
  if (start > 0 || end < blob.size) {
    const range = { ...headers, range: `bytes=${start}-${end - 1}` };
    const accept = [200, 206, ...RANGE_REFUSALS];
    const answer = await access.send({ ...request, headers: range, accept }, signal);
    const isAsked = answer.status === 206 && holdsRange(answer, start, end);
    if (answer.status === 200 || isAsked) return openedBlob(answer, blob, label);
    answer.discard();
  }
  return openedBlob(await access.send({ ...request, headers, accept: [200] }, signal), blob, label);
}

function openedBlob(answer: UpstreamAnswer, { digest, size }: Descriptor, label: string): OpenedBlob {
  const isWhole = answer.status === 200;
  const chunks = async function* chunks(): AsyncGenerator<Uint8Array, void> {
    let received = 0;
    for await (const chunk of answer.chunks()) {
      received += chunk.length;
      yield chunk;
    }
    if (isWhole && received < size)
      throw new BundleError(`${label}: the blob ${digest} ended at ${received} instead of ${size}`);
  };
  return { isWhole, chunks: chunks(), discard: () => answer.discard() };
}

/** Makes what opens the bundle of a tag; `null` when the tag does not exist. An unchanged tag costs one request. */
function createTagReader(
  { url, label, repository, access }: OciRegistryOptions,
  blobs: BlobReader,
): (tag: string, signal: AbortSignal) => Promise<Bundle | null> {
  const base = `${url}/v2/${repository}/manifests`;
  /** What each tag led to at the last look, by the digest that it had. */
  const held = new Map<string, { readonly digest: string; readonly bundle: Bundle }>();

  const fetchManifest = async (name: string, signal: AbortSignal): Promise<FetchedManifest> => {
    const request = { method: 'GET', url: `${base}/${name}`, headers: ANY_MANIFEST } as const;
    const answer = await access.send({ ...request, accept: [200], isKnown: true }, signal);
    const bytes = await collectAnswer(answer, OCI_MANIFEST_MAX_BYTES, label);
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    return { bytes, digest, type: headerOf(answer.headers, 'content-type') };
  };

  /** The digest that a tag has now: `null` when it does not exist, `unknown` where only its manifest tells. */
  const digestOf = async (tag: string, signal: AbortSignal): Promise<string | null> => {
    const request = { method: 'HEAD', url: `${base}/${tag}`, headers: ANY_MANIFEST } as const;
    const accept = [200, 401, 403, 404, 405, 501];
    const head = await access.send({ ...request, accept, isKnown: held.has(tag) }, signal);
    head.discard();
    if (head.status === 404) return null;
    // Some registries have no HEAD, and only the answer to a GET has a body that says why one is refused.
    return headerOf(head.headers, 'docker-content-digest') ?? 'unknown';
  };

  /** The manifest of the bundle that a tag leads to, also through an index of one. */
  const follow = async (
    tag: string,
    tagged: FetchedManifest,
    signal: AbortSignal,
  ): Promise<FetchedManifest> => {
    const led = leadOf(tagged.bytes, tagged.type);
    if (!led.ok) throw new BundleError(`${label}: the tag ${tag} leads to ${led.error}`);
    if (led.value === null) return tagged;
    const image = await fetchManifest(led.value, signal);
    if (image.digest !== led.value)
      throw new BundleError(
        `${label}: the manifest ${led.value} has the digest ${image.digest}: it is damaged`,
      );
    const inner = leadOf(image.bytes, image.type);
    if (inner.ok && inner.value === null) return image;
    const what = inner.ok ? 'another index' : inner.error;
    throw new BundleError(`${label}: the tag ${tag} leads to an index of ${what}`);
  };

  return async (tag, signal) => {
    const current = await digestOf(tag, signal);
    if (current === null) {
      held.delete(tag);
      return null;
    }
    const before = held.get(tag);
    if (before?.digest === current) return before.bundle;
    const tagged = await fetchManifest(tag, signal);
    if (before?.digest === tagged.digest) return before.bundle;
    const image = await follow(tag, tagged, signal);
    const same = [...held.values()].find(({ bundle }) => bundle.digest === image.digest);
    const described = { mediaType: OCI_MANIFEST_TYPE, digest: image.digest, size: image.bytes.length };
    const bundle = same?.bundle ?? (await openBundle(readerOf(image, blobs), described, signal));
    held.set(tag, { digest: tagged.digest, bundle });
    return bundle;
  };
}

interface FetchedManifest {
  readonly bytes: Buffer;
  readonly digest: string;
  readonly type: string | null;
}

/** Reads the blobs of a bundle, whose manifest is here already. */
function readerOf({ bytes, digest }: FetchedManifest, blobs: BlobReader): BlobReader {
  return {
    label: blobs.label,
    read: (blob, start, end, signal) =>
      blob.digest === digest ? once(bytes.subarray(start, end)) : blobs.read(blob, start, end, signal),
  };
}

/** Whether a range answer begins with the bytes `[start, end)`. */
function holdsRange(answer: UpstreamAnswer, start: number, end: number): boolean {
  const match = /^bytes (\d{1,16})-(\d{1,16})\//.exec(headerOf(answer.headers, 'content-range') ?? '');
  return match !== null && Number(match[1]) === start && Number(match[2]) >= end - 1;
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
