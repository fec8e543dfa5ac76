import type { Blake3Hex } from '../../domain/release/digest.ts';
import {
  createBundleSource,
  type BundleShelf,
  type BundleSource,
  type ShelvedObject,
} from '../../mirror/bundle/bundle-source.ts';
import { createFolderShelf } from '../../mirror/bundle/folder-shelf.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { readConfiguredKeys, type AttestedUpstream } from '../attested/attested-upstream.ts';
import { createUpstreamHttpClient } from '../http/http-client.ts';
import type { BundleConfiguration, OciConfiguration, UpstreamConfiguration } from '../upstream-config.ts';
import {
  parseUpstreamLocation,
  redactUrl,
  withNewAuthorization,
  type UpstreamLocation,
} from '../upstream-location.ts';
import { chooseTokenService } from './oci-challenge.ts';
import { createRegistryAccess, explainRegistry, type RegistryAccessOptions } from './oci-access.ts';
import { collectAnswer, createRegistryShelf, TOKEN_MAX_BYTES } from './oci-registry.ts';
import { UpstreamError, type UpstreamAdapter } from '../upstream.ts';

type BundleAdapter = UpstreamAdapter & { readonly attested: AttestedUpstream; close(): Promise<void> };

export function createBundleAdapter(section: BundleConfiguration): BundleAdapter {
  const shelf = createFolderShelf(section.path);
  return overShelf('bundle', shelf, section, async () => {
    await shelf.close();
  });
}

export function createOciAdapter(
  configuration: UpstreamConfiguration,
  section: OciConfiguration,
  clock: Clock,
): BundleAdapter {
  const { repository, tags, allowOtherOrigins } = section;
  const configured = parseUpstreamLocation(section.url);
  // The registry is asked first which credentials it wants.
  const { location, authorize } = withNewAuthorization({ ...configured, authorization: null });
  const client = createUpstreamHttpClient({ configuration, location, allowOtherOrigins, clock });
  const access = createRegistryAccess({
    url: configured.url,
    repository,
    client,
    clock,
    password: configured.authorization,
    authorize,
    askTokens: createTokenRequest(configuration, section, configured, clock),
  });
  const shelf = createRegistryShelf({
    url: configured.url,
    label: redactUrl(`${configured.url}/${repository}`),
    repository,
    tags,
    access,
  });
  return overShelf('oci', shelf, section, async () => {
    await client.close();
  });
}

function createTokenRequest(
  configuration: UpstreamConfiguration,
  { tokenService, allowOtherOrigins }: OciConfiguration,
  registry: UpstreamLocation,
  clock: Clock,
): RegistryAccessOptions['askTokens'] {
  const rules = {
    registry: registry.origin,
    tokenService: tokenService === undefined ? null : new URL(tokenService).origin,
    hasCredentials: registry.authorization !== null,
    allowOtherOrigins,
  };
  return async ({ realm }, query, signal) => {
    const chosen = chooseTokenService(realm, rules);
    if (!chosen.ok) throw new UpstreamError('upstream_status', chosen.problem);
    const { url, isOwn } = chosen;
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    // A service that does not belong to the registry may have no private address.
    const location = isOwn ? { ...registry, origin: url.origin } : { ...registry, authorization: null };
    const client = createUpstreamHttpClient({
      configuration,
      location,
      allowOtherOrigins: false,
      clock,
    });
    try {
      const answer = await client.send(
        { method: 'GET', url: url.href, accept: [200], explain: explainRegistry },
        signal,
      );
      return await collectAnswer(answer, TOKEN_MAX_BYTES, redactUrl(url.href));
    } finally {
      await client.close();
    }
  };
}

function overShelf(
  kind: 'bundle' | 'oci',
  shelf: BundleShelf,
  section: BundleConfiguration | OciConfiguration,
  close: () => Promise<void>,
): BundleAdapter {
  const source = createBundleSource(shelf);
  return {
    kind,
    label: shelf.label,
    attested: {
      source,
      isCarried: true,
      channels: section.channels,
      pollMs: section.pollSeconds * 1000,
      maxAgeSeconds: section.maxAttestationAgeSeconds,
      trustedKeys: async () => await readConfiguredKeys(section.trustedKeys),
    },
    probe: async (signal) => {
      try {
        const bundles = await shelf.look(signal);
        return { ok: true, message: `${shelf.label} holds ${bundles.length} bundles` };
      } catch (error) {
        return { ok: false, message: messageOf(error) };
      }
    },
    fetchCatalog: async () => {
      throw new UpstreamError(
        'catalog_invalid',
        `${shelf.label} has no catalog: the releases in bundles are copied as they were signed; run sync`,
      );
    },
    open: async (entry, { start, pastCaches = false }, signal) => {
      const object = await findObject(source, entry.locator as Blake3Hex, signal);
      if (object === null) {
        throw new UpstreamError(
          'upstream_not_found',
          `no bundle in ${shelf.label} holds ${entry.destination}: import the release that the bundle was exported --since, or a bundle of the whole release`,
        );
      }
      if (pastCaches) shelf.distrust?.(object.packs);
      return {
        start,
        totalSize: object.size,
        validator: `"${entry.locator}"`,
        chunks: asUpstream(object.read(start, signal), signal),
      };
    },
    close,
  };
}

async function findObject(
  source: BundleSource,
  blake3: Blake3Hex,
  signal: AbortSignal,
): Promise<ShelvedObject | null> {
  const known = source.find(blake3);
  if (known !== null) return known;
  // A repair after a restart, before the first look of the follower.
  await source.current(null, signal);
  return source.find(blake3);
}

async function* asUpstream(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UpstreamError) throw error;
    throw new UpstreamError('upstream_truncated', messageOf(error), { retryable: true, cause: error });
  }
}
