import { createDownloader, type DownloaderOptions } from '../http/downloader.ts';
import { createUpstreamAdapter } from './create-upstream-adapter.ts';
import type { UpstreamConfiguration } from '../upstream-config.ts';
import type { OwnedUpstream } from './upstream-source.ts';

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
    close: async () => {
      await adapter.close();
    },
  };
}
