import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import { TaskError, type TaskContext } from '../../tasks/task.ts';
import type { Unresolved } from '../catalog/catalog-entries.ts';
import type { CatalogStore } from '../catalog/catalog-store.ts';
import type { CatalogEntryRow } from '../records/entry-row.ts';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import { reuseOf } from './reuse-rules.ts';
import type { SqlDatabase } from '../records/sql.ts';

/** Maximum number of earlier catalogs searched for the bytes of an entry. */
const DONORS_MAX = 4;
/** Number of objects looked up in the store concurrently. */
const LOOKUP_CONCURRENCY = 16;

export interface DownloadPlanDependencies {
  readonly database: SqlDatabase;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly writer: Pick<SnapshotWriter, 'objectState' | 'freeBytes'>;
  /** Bytes that a sync leaves free on the volume. */
  readonly reserveBytes: number;
}

/** The entries to fetch, and the number that need no fetch. */
export interface DownloadPlan extends Unresolved {
  /** Number of entries whose object is already in the store. */
  readonly reused: number;
}

/**
 * Finds the existing object of every entry of a revision: the object known from an earlier run of the task, the object
 * named by the stated BLAKE3, or the object of the same entry in an earlier catalog that states the same digests. An
 * object counts only when it is in the store with the right size and is not known to be damaged.
 *
 * @returns the entries that remain to be fetched
 */
export async function planDownloads(
  deps: DownloadPlanDependencies,
  revisionId: number,
  force: boolean,
  context: TaskContext,
): Promise<DownloadPlan> {
  const { catalogs, database } = deps;
  const donors = catalogs.donors(revisionId, DONORS_MAX);
  let reused = 0;
  let looked = 0;
  for await (const page of catalogs.pages(revisionId, 'all')) {
    context.signal.throwIfAborted();
    const found = new Map<CatalogEntryRow, CatalogEntryRow['blake3']>();
    await forEachConcurrently(page, LOOKUP_CONCURRENCY, context.signal, async (row) => {
      found.set(row, await objectOf(deps, row, donors, force));
    });
    database.transaction(() => {
      for (const [row, blake3] of found) {
        if (blake3 !== null) reused += 1;
        if (blake3 !== row.blake3) catalogs.resolve(revisionId, row.destination, blake3);
      }
    });
    looked += page.length;
    context.progress(looked, null, 'entries', 'compare');
  }
  return { ...catalogs.unresolved(revisionId), reused };
}

/**
 * Checks that the volume has room for the planned downloads.
 *
 * @throws TaskError `no_space` with the bytes needed, free and kept in reserve
 */
export async function checkFreeSpace(deps: DownloadPlanDependencies, plan: DownloadPlan): Promise<void> {
  if (plan.entries === 0) return;
  const free = await deps.writer.freeBytes();
  if (plan.bytes + deps.reserveBytes <= free) return;
  throw new TaskError(
    'no_space',
    `the release needs ${plan.bytes} bytes and ${deps.reserveBytes} are kept in reserve, but the volume has only ` +
      `${free} bytes free; run release-cleanup or enlarge the volume`,
    { details: { needed_bytes: plan.bytes, reserve_bytes: deps.reserveBytes, free_bytes: free } },
  );
}

async function objectOf(
  deps: DownloadPlanDependencies,
  row: CatalogEntryRow,
  donors: readonly number[],
  force: boolean,
): Promise<CatalogEntryRow['blake3']> {
  for (const candidate of candidates(deps.catalogs, row, donors, force)) {
    const object = deps.objects.get(candidate);
    if (object === null || !object.sound) continue;
    if (row.stated_size !== null && row.stated_size !== object.size) continue;
    if ((await deps.writer.objectState(object.blake3, object.size)) === 'ok') return object.blake3;
  }
  return null;
}

function* candidates(
  catalogs: CatalogStore,
  row: CatalogEntryRow,
  donors: readonly number[],
  force: boolean,
): Generator<string> {
  if (row.blake3 !== null) yield row.blake3;
  if (row.stated_blake3 !== null) {
    yield row.stated_blake3;
    return;
  }
  for (const donor of donors) {
    const earlier = catalogs.entry(donor, row.destination);
    if (earlier?.blake3 !== undefined && earlier.blake3 !== null && reuseOf(row, earlier, force) !== null) {
      yield earlier.blake3;
    }
  }
}
