import { createDownloader, type DownloaderOptions } from '../http/downloader.ts';
import type { UpstreamConfiguration } from '../upstream-config.ts';
import { createUpstreamSource, type OwnedUpstream, type ReplaceableUpstream } from './upstream-source.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { CatalogReader } from '../catalog-readers/catalog-reader.ts';
import { knownCatalogReaders } from '../catalog-readers/known-readers.ts';
import { createBundleAdapter, createOciAdapter } from './bundle-adapter.ts';
import { createDirectoryAdapter } from './directory-adapter.ts';
import { excludeEntries } from './excluded-entries.ts';
import { createManifestAdapter } from './manifest-adapter.ts';
import { createServerInfoAdapter } from './server-info-adapter.ts';
import { createSlipwayAdapter } from './slipway-adapter.ts';
import type { AttestedUpstream } from '../attested/attested-upstream.ts';
import type { UpstreamAdapter } from '../upstream.ts';

/**
 * Makes the adapter and the downloader of a configuration; nothing is asked of upstream yet.
 *
 * @returns `null` when no upstream is configured
 * @throws Error when the configuration names a catalog reader that does not exist
 */
export function connectUpstream(
  configuration: UpstreamConfiguration,
  deps: Omit<DownloaderOptions, 'adapter' | 'limits'>,
): OwnedUpstream | null {
  if (configuration.kind === 'none') return null;
  const adapter = createUpstreamAdapter(configuration, deps);
  return {
    adapter,
    ...(adapter.attested === undefined ? {} : { attested: adapter.attested }),
    downloader: createDownloader({ ...deps, adapter, limits: configuration }),
    close: async () => await adapter.close(),
  };
}

export interface UpstreamAdapterOptions {
  readonly clock: Clock;
  /** In [0, 1), for the jitter; `Math.random` when absent. */
  readonly random?: () => number;
  /** Catalog readers of the `server-info` kind; those that come with the daemon when absent. */
  readonly readers?: readonly CatalogReader[];
}

export type OwnedUpstreamAdapter = UpstreamAdapter & {
  readonly attested?: AttestedUpstream;
  close(): Promise<void>;
};

/**
 * Creates the adapter that the configuration names.
 *
 * @throws Error when the configuration names a catalog reader that does not exist, or has no section of its kind
 */
export function createUpstreamAdapter(
  configuration: UpstreamConfiguration,
  deps: UpstreamAdapterOptions,
): OwnedUpstreamAdapter {
  const { kind, directory, manifest, serverInfo, slipway, bundle, oci } = configuration;
  const exclude = <A extends UpstreamAdapter>(adapter: A): A =>
    excludeEntries(adapter, configuration.exclude);
  if (kind === 'directory' && directory !== undefined)
    return exclude(createDirectoryAdapter(configuration, directory));
  if (kind === 'manifest' && manifest !== undefined) {
    return exclude(createManifestAdapter(configuration, manifest, deps.clock));
  }
  if (kind === 'server-info' && serverInfo !== undefined) {
    const readers = deps.readers ?? knownCatalogReaders;
    return exclude(
      createServerInfoAdapter({ configuration, section: serverInfo, clock: deps.clock, readers }),
    );
  }
  if (kind === 'slipway' && slipway !== undefined) {
    return createSlipwayAdapter(configuration, slipway, {
      clock: deps.clock,
      random: deps.random ?? Math.random,
    });
  }
  if (kind === 'bundle' && bundle !== undefined) return createBundleAdapter(bundle);
  if (kind === 'oci' && oci !== undefined) return createOciAdapter(configuration, oci, deps.clock);
  throw new Error(`upstream.kind is "${kind}" but its section is missing`);
}

/** The upstream of the daemon, which a reload replaces. */
export interface Upstream extends ReplaceableUpstream {
  /**
   * Connects to the upstream of another configuration, for `replace`; `null` for none.
   *
   * @throws Error when the configuration names a catalog reader that does not exist
   */
  connect(configuration: UpstreamConfiguration): OwnedUpstream | null;
}

/**
 * Opens the upstream of a configuration; nothing is asked of it yet.
 *
 * @throws as `connect`
 */
export function openUpstream(
  configuration: UpstreamConfiguration,
  deps: Omit<DownloaderOptions, 'adapter' | 'limits'>,
): Upstream {
  const connect = (wanted: UpstreamConfiguration): OwnedUpstream | null => connectUpstream(wanted, deps);
  const source = createUpstreamSource(connect(configuration), (error) => {
    deps.logger.warn({ err: error }, 'connections to the previous upstream could not be closed');
  });
  return { ...source, connect };
}
