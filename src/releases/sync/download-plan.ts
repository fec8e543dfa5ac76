import type { TaskParts } from '../release-parts.ts';
import type { StagedFileInfo } from '../../snapshot/volume/staging-directories.ts';
import { TaskError, type TaskContext } from '../../engine/tasks/task.ts';
import type { Unresolved } from '../catalog/catalog-entries.ts';
import type { CatalogStore } from '../catalog/catalog-store.ts';
import type { CatalogEntryRow } from '../records/entry-row.ts';
import { forEachConcurrently } from '../../platform/process/concurrently.ts';
import { stagedNameOf } from '../download/download-run.ts';
import { partPathOf } from '../../upstream/http/part-file.ts';

const DONORS_MAX = 4;
const LOOKUP_CONCURRENCY = 16;

export interface DownloadPlan extends Unresolved {
  readonly reused: number;
  /** Bytes on the volume that these downloads resume or replace. */
  readonly stagedBytes: number;
}

/**
 * Finds the existing object of every entry of a revision: the object known from an earlier run of the task, the object
 * named by the stated BLAKE3, or the object of the same entry in an earlier catalog that states the same digests. An
 * object counts only when it is in the store with the right size and is not known to be damaged. The known objects of a revision that
 * was just checked are not looked at again.
 *
 * @param from.staged the files that earlier attempts left
 * @returns the entries that remain to be fetched
 */
export async function planDownloads(
  parts: TaskParts,
  from: {
    readonly revisionId: number;
    readonly force: boolean;
    /** A revision whose objects were found in the store, as far as they are not known to be damaged; `null` for none. */
    readonly checked: number | null;
    readonly entryCount: number;
    readonly staged: readonly StagedFileInfo[];
  },
  context: TaskContext,
): Promise<DownloadPlan> {
  const { revisionId, force, checked } = from;
  const { catalogs, database } = parts;
  catalogs.forgetDamaged(revisionId);
  const donors = catalogs.donors(revisionId, DONORS_MAX);
  const staged = new Map(from.staged.map(({ name, bytes }) => [name, bytes]));
  let stagedBytes = 0;
  let looked = 0;
  for await (const page of catalogs.pagesBeside(revisionId, checked)) {
    context.signal.throwIfAborted();
    const found = new Map<CatalogEntryRow, CatalogEntryRow['blake3']>();
    await forEachConcurrently(page, LOOKUP_CONCURRENCY, context.signal, async (row) => {
      found.set(row, await objectOf(parts, row, donors, force));
    });
    database.transaction(() => {
      for (const [row, blake3] of found) {
        if (blake3 === null) stagedBytes += stagedBytesOf(row, staged);
        if (blake3 !== row.blake3) catalogs.resolve(revisionId, row.destination, blake3);
      }
    });
    looked += page.length;
    context.progress(looked, null, 'entries', 'compare');
  }
  const unresolved = catalogs.unresolved(revisionId);
  return { ...unresolved, reused: from.entryCount - unresolved.entries, stagedBytes };
}

/**
 * Checks that the volume has room for the planned downloads.
 *
 * @throws TaskError `no_space` with the bytes needed, free and kept in reserve
 */
export async function checkFreeSpace(parts: TaskParts, plan: DownloadPlan): Promise<void> {
  if (plan.entries === 0) return;
  const free = await parts.writer.freeBytes();
  const reserve = parts.configuration().reserveBytes;
  const needed = plan.bytes - plan.stagedBytes;
  if (needed + reserve <= free) return;
  throw new TaskError(
    'no_space',
    `the release needs ${needed} bytes and ${reserve} are kept in reserve, but the volume has only ` +
      `${free} bytes free; run release-cleanup or enlarge the volume`,
    { details: { needed_bytes: needed, reserve_bytes: reserve, free_bytes: free } },
  );
}

function stagedBytesOf(
  { destination, stated_size: size }: CatalogEntryRow,
  staged: ReadonlyMap<string, number>,
): number {
  return Math.min(size ?? 0, staged.get(partPathOf(stagedNameOf(destination))) ?? 0);
}

async function objectOf(
  parts: TaskParts,
  row: CatalogEntryRow,
  donors: readonly number[],
  force: boolean,
): Promise<CatalogEntryRow['blake3']> {
  for (const candidate of candidates(parts.catalogs, row, donors, force)) {
    const object = parts.objects.get(candidate);
    if (object === null || !object.sound) continue;
    if (row.stated_size !== null && row.stated_size !== object.size) continue;
    if ((await parts.writer.objectState(object.blake3, object.size)) === 'ok') return object.blake3;
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

type Reuse = 'stated_blake3' | 'same_sha256' | 'same_md5' | 'same_crc32' | null;

/**
 * Decides whether an entry has the same bytes as an earlier entry of the same destination, from the facts that upstream
 * states about both. SHA-256 alone is enough. MD5 and CRC-32 count only together with the size, for the same
 * destination, and not when the operator asked to fetch again (`force`). Without a stated digest the entry is fetched.
 *
 * @returns the evidence, or `null` when the entry has to be fetched
 */
export function reuseOf(entry: CatalogEntryRow, earlier: CatalogEntryRow, force: boolean): Reuse {
  if (entry.stated_blake3 !== null)
    return entry.stated_blake3 === earlier.stated_blake3 ? 'stated_blake3' : null;
  if (earlier.destination !== entry.destination) return null;
  if (entry.stated_size !== earlier.stated_size) return null;
  if (entry.stated_sha256 !== null)
    return entry.stated_sha256 === earlier.stated_sha256 ? 'same_sha256' : null;
  if (force || entry.stated_size === null) return null;
  if (entry.stated_md5 !== null) return entry.stated_md5 === earlier.stated_md5 ? 'same_md5' : null;
  if (entry.stated_crc32 !== null) return entry.stated_crc32 === earlier.stated_crc32 ? 'same_crc32' : null;
  return null;
}
