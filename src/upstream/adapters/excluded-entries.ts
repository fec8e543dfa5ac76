import { createGlobFilter } from '../../platform/config/glob-filter.ts';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import type { UpstreamAdapter, UpstreamCatalog, UpstreamEntry } from '../upstream.ts';

/** Begins the validators of catalogs from which entries were left out. */
const MARK = 'exclude-';

/**
 * Leaves entries out of the catalogs of an adapter. Validators and fingerprints then depend on the globs, so that other globs are
 * another catalog although upstream has the same.
 *
 * @param globs over destinations; without any, the adapter only forgets the validators of a time with globs
 */
export function excludeEntries<Adapter extends UpstreamAdapter>(
  adapter: Adapter,
  globs: readonly string[],
): Adapter {
  const isIncluded = createGlobFilter({ include: [], exclude: globs });
  if (isIncluded === null) {
    return {
      ...adapter,
      fetchCatalog: async (previousEtag, signal) =>
        await adapter.fetchCatalog(previousEtag?.startsWith(MARK) === true ? null : previousEtag, signal),
    };
  }
  const mark = `${MARK}${blake3Hex(Buffer.from(JSON.stringify(globs))).slice(0, 16)} `;
  return {
    ...adapter,
    fetchCatalog: async (previousEtag, signal) => {
      const previous = previousEtag?.startsWith(mark) === true ? previousEtag.slice(mark.length) : null;
      const catalog = await adapter.fetchCatalog(previous, signal);
      return catalog === null ? null : withoutExcluded(catalog, isIncluded, mark);
    },
  };
}

function withoutExcluded(
  catalog: UpstreamCatalog,
  isIncluded: (destination: string) => boolean,
  mark: string,
): UpstreamCatalog {
  let excluded = 0;
  return {
    ...catalog,
    etag: catalog.etag === null ? null : `${mark}${catalog.etag}`,
    entries: async function* entries(signal): AsyncGenerator<UpstreamEntry, void> {
      excluded = 0;
      for await (const entry of catalog.entries(signal)) {
        if (isIncluded(entry.destination)) yield entry;
        else excluded += 1;
      }
    },
    fingerprint: () => blake3Hex(Buffer.from(`${mark}${catalog.fingerprint()}`)),
    excluded: () => excluded,
  };
}
