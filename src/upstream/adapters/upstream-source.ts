import type { Downloader } from '../http/downloader.ts';
import type { AttestedUpstream } from '../attested/attested-upstream.ts';
import type { UpstreamAdapter } from '../upstream.ts';

export interface ConnectedUpstream {
  readonly adapter: UpstreamAdapter;
  readonly downloader: Downloader;
  readonly attested?: AttestedUpstream;
}

/** Where releases come from now; the upstream behind it can be replaced. */
export interface UpstreamSource {
  /** The upstream of this moment, for what only needs its name; `null` when none is configured. */
  current(): ConnectedUpstream | null;
  /**
   * Runs with the upstream of this moment from its beginning to its end: one that is replaced meanwhile stays connected
   * until then, so that a catalog and its files never come from two of them.
   */
  use<T>(run: (upstream: ConnectedUpstream | null) => Promise<T>): Promise<T>;
}

export interface OwnedUpstream extends ConnectedUpstream {
  close(): Promise<void>;
}

export interface ReplaceableUpstream extends UpstreamSource {
  replace(next: OwnedUpstream | null): void;
  close(): Promise<void>;
}

export function createUpstreamSource(
  first: OwnedUpstream | null,
  onCloseFailed: (error: unknown) => void,
): ReplaceableUpstream {
  let current = first;
  const users = new Map<OwnedUpstream, number>();

  const closeUnused = (upstream: OwnedUpstream): void => {
    if (upstream === current || (users.get(upstream) ?? 0) > 0) return;
    users.delete(upstream);
    upstream.close().catch(onCloseFailed);
  };

  return {
    current: () => current,
    use: async (run) => {
      const used = current;
      if (used === null) return await run(null);
      users.set(used, (users.get(used) ?? 0) + 1);
      try {
        return await run(used);
      } finally {
        users.set(used, (users.get(used) ?? 1) - 1);
        closeUnused(used);
      }
    },
    replace: (next) => {
      const before = current;
      current = next;
      if (before !== null) closeUnused(before);
    },
    close: async () => {
      const left = new Set([...users.keys(), ...(current === null ? [] : [current])]);
      current = null;
      users.clear();
      await Promise.all([...left].map(async (upstream) => await upstream.close()));
    },
  };
}
