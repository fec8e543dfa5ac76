import { implementJob, type Job } from '../../tasks/job.ts';
import { TaskError } from '../../tasks/task.ts';
import type { UpstreamAdapter } from '../../upstream/upstream.ts';
import { compareCatalogs } from './catalog-difference.ts';
import { fetchCatalog, type CatalogFetchDependencies } from './catalog-fetch.ts';
import type { CatalogEntryRow } from '../records/entry-row.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { CATALOG_REFRESH_JOB } from '../jobs/release-jobs.ts';

export interface CatalogRefreshDependencies extends CatalogFetchDependencies {
  readonly adapter: UpstreamAdapter | null;
  readonly releases: ReleaseRepository;
}

/** The job `catalog-refresh`: fetches only the catalog and reports how it differs from the current release. */
export function createCatalogRefreshTask(deps: CatalogRefreshDependencies): Job {
  return implementJob(CATALOG_REFRESH_JOB, async (context) => {
    const { adapter, catalogs } = deps;
    if (adapter === null) {
      throw new TaskError(
        'upstream_not_configured',
        'no upstream is configured: set upstream.kind and its options',
      );
    }
    const { force } = context.args;
    const revision = await fetchCatalog(deps, adapter, context, { force });
    const held = deps.releases.current('official')?.revision_id ?? null;
    const difference = await compareCatalogs(
      held === null ? nothing() : catalogs.rows(held, 'all'),
      catalogs.rows(revision.revision_id, 'all'),
    );
    return { release_id: revision.upstream_release_id, entries: revision.entry_count, ...difference };
  });
}

async function* nothing(): AsyncGenerator<CatalogEntryRow> {
  // There is no current release to compare with yet.
}
