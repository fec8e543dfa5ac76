import type { Clock } from '../../../platform/process/clock.ts';
import type { CatalogReader } from '../catalog-readers/catalog-reader.ts';
import { knownCatalogReaders } from '../catalog-readers/known-readers.ts';
import { createDirectoryAdapter } from './directory-adapter.ts';
import { createManifestAdapter } from './manifest-adapter.ts';
import { createServerInfoAdapter } from './server-info-adapter.ts';
import type { UpstreamConfiguration } from '../upstream-config.ts';
import { UpstreamError, type UpstreamAdapter } from '../upstream.ts';

/** Collaborators of an adapter, beside its configuration. */
export interface UpstreamAdapterOptions {
  readonly clock: Clock;
  /** Catalog readers of the `server-info` kind; those that come with the daemon when absent. */
  readonly readers?: readonly CatalogReader[];
}

/** An adapter together with its connections. */
export type OwnedUpstreamAdapter = UpstreamAdapter & {
  /** Closes every connection; calls in progress fail. */
  close(): Promise<void>;
};

/**
 * Creates the adapter that the configuration names. For `none` it is one that says so.
 *
 * @throws Error when the configuration names a catalog reader that does not exist, or lacks the section of its kind
 */
export function createUpstreamAdapter(
  configuration: UpstreamConfiguration,
  deps: UpstreamAdapterOptions,
): OwnedUpstreamAdapter {
  const { kind, directory, manifest, serverInfo } = configuration;
  if (kind === 'none') return noUpstream;
  if (kind === 'directory' && directory !== undefined)
    return createDirectoryAdapter(configuration, directory);
  if (kind === 'manifest' && manifest !== undefined) {
    return createManifestAdapter(configuration, manifest, deps.clock);
  }
  if (kind === 'server-info' && serverInfo !== undefined) {
    const readers = deps.readers ?? knownCatalogReaders;
    return createServerInfoAdapter({ configuration, section: serverInfo, clock: deps.clock, readers });
  }
  throw new Error(`upstream.kind is "${kind}" but its section is missing`);
}

const NOT_CONFIGURED = 'no upstream is configured: set upstream.kind to directory, manifest or server-info';

const noUpstream: OwnedUpstreamAdapter = {
  kind: 'none',
  label: 'none',
  probe: async () => ({ ok: false, message: NOT_CONFIGURED }),
  fetchCatalog: async () => {
    throw new UpstreamError('upstream_not_found', NOT_CONFIGURED, { retryable: false });
  },
  open: async () => {
    throw new UpstreamError('upstream_not_found', NOT_CONFIGURED, { retryable: false });
  },
  close: async () => undefined,
};
