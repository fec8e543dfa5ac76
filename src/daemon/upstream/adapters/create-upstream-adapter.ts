import type { Clock } from '../../../platform/process/clock.ts';
import type { CatalogReader } from '../catalog-readers/catalog-reader.ts';
import { knownCatalogReaders } from '../catalog-readers/known-readers.ts';
import { createBundleAdapter, createOciAdapter } from './bundle-adapter.ts';
import { createDirectoryAdapter } from './directory-adapter.ts';
import { createManifestAdapter } from './manifest-adapter.ts';
import { createServerInfoAdapter } from './server-info-adapter.ts';
import { createSlipwayAdapter } from './slipway-adapter.ts';
import type { UpstreamConfiguration } from '../upstream-config.ts';
import type { AttestedUpstream } from '../attested/attested-upstream.ts';
import { UpstreamError, type UpstreamAdapter } from '../upstream.ts';

/** Collaborators of an adapter, beside its configuration. */
export interface UpstreamAdapterOptions {
  readonly clock: Clock;
  /** In [0, 1), for the jitter; `Math.random` when absent. */
  readonly random?: () => number;
  /** Catalog readers of the `server-info` kind; those that come with the daemon when absent. */
  readonly readers?: readonly CatalogReader[];
}

/** An adapter together with its connections. */
export type OwnedUpstreamAdapter = UpstreamAdapter & {
  /** Its attested source, for an upstream whose releases are copied as they were signed. */
  readonly attested?: AttestedUpstream;
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
  const { kind, directory, manifest, serverInfo, slipway, bundle, oci } = configuration;
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

const NOT_CONFIGURED =
  'no upstream is configured: set upstream.kind to directory, manifest, server-info, slipway, bundle or oci';

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
