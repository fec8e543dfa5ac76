import type { TaskParts } from '../release-parts.ts';
import { requireUpstream } from '../jobs/task-errors.ts';
import type { ArgumentsOf } from '../../engine/tasks/job.ts';
import type { TaskContext, TaskResult } from '../../engine/tasks/task.ts';
import { fetchCatalog } from './catalog-fetch.ts';
import type { CatalogEntryRow } from '../records/entry-row.ts';
import type { CATALOG_REFRESH_JOB } from '../jobs/release-jobs.ts';
import { compareDestinations } from '../../domain/release/destination.ts';

/** The task `catalog-refresh`: fetches only the catalog and reports how it differs from the current release. */
export async function refreshCatalog(
  parts: TaskParts,
  context: TaskContext<ArgumentsOf<typeof CATALOG_REFRESH_JOB>>,
): Promise<TaskResult> {
  const { catalogs, upstream } = parts;
  requireUpstream(upstream);
  const revision = await fetchCatalog(parts, upstream.adapter, context, context.args.force);
  const held = parts.releases.current('official')?.revision_id ?? null;
  const difference = await compareCatalogs(
    held === null ? nothing() : catalogs.rows(held, 'all'),
    catalogs.rows(revision.revision_id, 'all'),
  );
  return { release_id: revision.upstream_release_id, entries: revision.entry_count, ...difference };
}

async function* nothing(): AsyncGenerator<CatalogEntryRow> {
  // There is no current release to compare with yet.
}

interface CatalogDifference {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly bytes: number;
}

/**
 * Compares two catalogs in one pass, with one entry of each in memory.
 *
 * @param before in manifest order
 * @param after in manifest order
 */
export async function compareCatalogs(
  before: AsyncIterable<CatalogEntryRow>,
  after: AsyncIterable<CatalogEntryRow>,
): Promise<CatalogDifference> {
  const difference = { added: 0, changed: 0, removed: 0, bytes: 0 };
  const old = before[Symbol.asyncIterator]();
  let previous = await old.next();
  for await (const entry of after) {
    while (previous.done !== true && compareDestinations(previous.value.destination, entry.destination) < 0) {
      difference.removed += 1;
      previous = await old.next();
    }
    const same = previous.done !== true && previous.value.destination === entry.destination;
    if (!same) difference.added += 1;
    else if (previous.done !== true && statesOtherBytes(previous.value, entry)) difference.changed += 1;
    else {
      previous = await old.next();
      continue;
    }
    difference.bytes += entry.stated_size ?? 0;
    if (same) previous = await old.next();
  }
  while (previous.done !== true) {
    difference.removed += 1;
    previous = await old.next();
  }
  return difference;
}

const STATED = ['stated_size', 'stated_blake3', 'stated_sha256', 'stated_md5', 'stated_crc32'] as const;

/** Whether the two entries state facts that cannot both be true of the same bytes. */
export function statesOtherBytes(before: CatalogEntryRow, after: CatalogEntryRow): boolean {
  return STATED.some(
    (column) => before[column] !== null && after[column] !== null && before[column] !== after[column],
  );
}
