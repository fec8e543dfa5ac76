import { TaskError, type TaskHandler } from '../../tasks/task.ts';
import type { UpstreamAdapter } from '../../upstream/upstream.ts';
import { compareCatalogs } from './catalog-difference.ts';
import { fetchCatalog, type CatalogFetchDependencies } from './catalog-fetch.ts';
import type { CatalogEntryRow } from '../records/entry-row.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { readReleaseArguments } from '../task-arguments.ts';
import { releaseTaskError } from '../task-errors.ts';

/** What a catalog refresh is made of. */
export interface CatalogRefreshDependencies extends CatalogFetchDependencies {
  readonly adapter: UpstreamAdapter | null;
  readonly releases: ReleaseRepository;
  readonly maxAttempts: number;
}

/** The task `catalog-refresh`: fetches the catalog alone and reports how it differs from the current release. */
export function createCatalogRefreshTask(deps: CatalogRefreshDependencies): TaskHandler {
  return {
    kind: 'catalog-refresh',
    lane: 'release',
    resumable: true,
    maxAttempts: deps.maxAttempts,
    storeLock: 'none',
    run: async (context) => {
      const { adapter, catalogs } = deps;
      if (adapter === null) {
        throw new TaskError(
          'upstream_not_configured',
          'no upstream is configured: set upstream.kind and its options',
        );
      }
      try {
        const { force } = readReleaseArguments(context.args);
        const revision = await fetchCatalog(deps, adapter, context, { force });
        const held = deps.releases.current('official')?.revision_id ?? null;
        const difference = await compareCatalogs(
          held === null ? nothing() : catalogs.rows(held, 'all'),
          catalogs.rows(revision.revision_id, 'all'),
        );
        return {
          release_id: revision.upstream_release_id,
          entries: revision.entry_count,
          ...difference,
        };
      } catch (error) {
        throw releaseTaskError(error);
      }
    },
  };
}

async function* nothing(): AsyncGenerator<CatalogEntryRow> {
  // The first release is compared with nothing.
}
