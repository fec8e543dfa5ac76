import { encodePath } from '../../domain/release/encode-path.ts';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { createBlake3 } from '../../platform/hashing/blake3.ts';
import type { CatalogReader } from '../catalog-readers/catalog-reader.ts';
import { emptyCatalog, parseEntryDestination, tooManyEntries } from '../entry-rules.ts';
import { createUpstreamHttpClient } from '../http/http-client.ts';
import { checkServerInfo, fetchServerInfo } from '../http/http-documents.ts';
import { openHttpEntry } from '../http/http-entry.ts';
import { locateCatalogs, type LocatedCatalogs } from './server-info-catalogs.ts';
import { readLocatedCatalogs } from './server-info-entries.ts';
import { chooseCatalogRoot, type CatalogRoot } from './server-info-document.ts';
import type { ServerInfoConfiguration, UpstreamConfiguration } from '../upstream-config.ts';
import { parseUpstreamLocation, quoteText, redactUrl } from '../upstream-location.ts';
import {
  createFingerprint,
  UpstreamError,
  type UpstreamAdapter,
  type UpstreamCatalog,
  type UpstreamEntry,
} from '../upstream.ts';

interface ServerInfoAdapterOptions {
  readonly configuration: UpstreamConfiguration;
  readonly section: ServerInfoConfiguration;
  readonly clock: Clock;
  readonly readers: readonly CatalogReader[];
}

interface LocatedRelease {
  readonly serverInfo: Uint8Array;
  readonly root: CatalogRoot;
  readonly releaseId: ReleaseId;
  readonly located: LocatedCatalogs;
}

/**
 * Creates the adapter for releases found through a server-info document: the document names a catalog root, catalog
 * readers list the files below it.
 *
 * @throws Error when the configuration names a catalog reader that does not exist
 */
export function createServerInfoAdapter(
  deps: ServerInfoAdapterOptions,
): UpstreamAdapter & { close(): Promise<void> } {
  const { configuration, section, clock } = deps;
  const required = chooseReaders(section.requiredCatalogs, deps.readers);
  const optional = chooseReaders(section.optionalCatalogs, deps.readers);
  const additional = section.additionalPaths.map((path) =>
    parseEntryDestination(path, 'upstream.serverInfo.additionalPaths'),
  );
  const location = parseUpstreamLocation(section.url);
  const client = createUpstreamHttpClient({
    configuration,
    location,
    allowOtherOrigins: section.allowOtherOrigins,
    clock,
  });
  /** Finds the current release: the document, the root it names, and the catalogs below that root. */
  const locate = async (signal: AbortSignal): Promise<LocatedRelease> => {
    const serverInfo = await fetchServerInfo(client, location.url, signal);
    const document = checkServerInfo(serverInfo, redactUrl(location.url));
    const root = chooseCatalogRoot(document, location.url, section.overrideName ?? null);
    const releaseId = deriveReleaseId(root.url, section.appVersion ?? null);
    const located = await locateCatalogs(
      { client, root: root.url, required, optional, platforms: section.platforms },
      signal,
    );
    return { serverInfo, root, releaseId, located };
  };
  return {
    kind: 'server-info',
    label: redactUrl(location.url),
    probe: async (signal) => {
      try {
        const { root } = await locate(signal);
        return { ok: true, message: `${redactUrl(root.url)} has the required catalogs` };
      } catch (error) {
        return { ok: false, message: messageOf(error) };
      }
    },
    fetchCatalog: async (previousEtag, signal) => {
      const { serverInfo, root, releaseId, located } = await locate(signal);
      const etag = combineValidators(serverInfo, releaseId, located);
      if (etag !== null && etag === previousEtag) return null;
      const fingerprint = createFingerprint();
      return {
        releaseId,
        appVersion: section.appVersion ?? null,
        serverInfo,
        etag,
        async *entries(entriesSignal): AsyncGenerator<UpstreamEntry, void> {
          const hash = createBlake3();
          hash.update(Buffer.from(`${root.url}\n${additional.join('\n')}\n`));
          hash.update(serverInfo);
          const source = { client, root: root.url, limits: configuration, hash };
          let count = 0;
          let listed = 0;
          for await (const entry of readLocatedCatalogs(source, located, entriesSignal)) {
            count += 1;
            if (entry.listed) listed += 1;
            if (count > configuration.maxEntries) throw tooManyEntries(root.url, configuration.maxEntries);
            yield entry.entry;
          }
          if (listed === 0) throw emptyCatalog(`the catalogs below ${root.url}`);
          const held = new Set([...located.catalogs, ...located.companions].map(({ path }) => path));
          for (const destination of additional) {
            if (held.has(destination)) continue;
            yield { destination, size: null, digests: {}, locator: `${root.url}/${encodePath(destination)}` };
          }
          fingerprint.set(hash.digest().toString('hex'));
        },
        fingerprint: fingerprint.read,
      } satisfies UpstreamCatalog;
    },
    open: async (entry, resume, signal) => openHttpEntry(client, entry, entry.locator, resume, signal),
    close: async () => client.close(),
  };
}

function chooseReaders(names: readonly string[], readers: readonly CatalogReader[]): CatalogReader[] {
  return names.map((name) => {
    const reader = readers.find((candidate) => candidate.name === name);
    if (reader !== undefined) return reader;
    const known = readers.map((candidate) => candidate.name).join(', ');
    throw new Error(
      `there is no catalog reader ${quoteText(name)} (upstream.serverInfo); known are ${known}`,
    );
  });
}

function deriveReleaseId(root: string, appVersion: string | null): ReleaseId {
  const segment = new URL(root).pathname.split('/').at(-1) ?? '';
  const parsed = parseReleaseId(appVersion === null ? segment : `${appVersion}-${segment}`);
  if (!parsed.ok) {
    throw new UpstreamError(
      'catalog_invalid',
      `the catalog root ${redactUrl(root)} gives no release id: ${parsed.error}`,
    );
  }
  return parsed.value;
}

/** One validator over the document and every catalog; `null` when a catalog came without one. */
function combineValidators(
  serverInfo: Uint8Array,
  releaseId: ReleaseId,
  located: LocatedCatalogs,
): string | null {
  const hash = createBlake3();
  hash.update(Buffer.from(`${releaseId}\n`));
  hash.update(serverInfo);
  for (const { path, validator } of [...located.catalogs, ...located.companions]) {
    if (validator === null) return null;
    hash.update(Buffer.from(`\n${path}\n${validator}`));
  }
  return `"${hash.digest().toString('hex')}"`;
}
