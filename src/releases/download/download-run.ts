import type { TaskParts } from '../release-parts.ts';
import type { FileDigests } from '../../platform/hashing/digests.ts';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import { KeyedQueue } from '../../snapshot/objects/keyed-queue.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import type { TaskContext } from '../../engine/tasks/task.ts';
import type { Downloader } from '../../upstream/http/downloader.ts';
import { forEachConcurrently } from '../../platform/process/concurrently.ts';
import { upstreamEntryOf, type CatalogEntryRow, type KnownObject } from '../records/entry-row.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseFailpoint } from '../jobs/release-failpoints.ts';
import { FailedFiles } from './failed-files.ts';
import { join } from 'node:path';
import pLimit from 'p-limit';

/** Fetched entries that are written to the database in one transaction. */
const BATCH_ENTRIES = 128;

/**
 * Maximum number of files being flushed to disk while others are downloaded. The disk flushes many files together about
 * as fast as one, so a download does not wait until the previous file is flushed.
 */
const COMMITS_IN_FLIGHT = 16;

/** The name of the file that an entry is downloaded to, the same in every attempt. */
export function stagedNameOf(destination: string): string {
  return blake3Hex(Buffer.from(destination));
}

export interface DownloadRun {
  readonly revisionId: number;
  /** A directory of the store with the same name in every attempt, for resumable parts. */
  readonly staging: string;
  readonly totalBytes: number;
  /** Entries of the revision, fetched or not. */
  readonly entryCount: number;
  /**
   * Throws when upstream has another catalog now. It is asked when the first file fails, and again at the end. Absent where a release is
   * copied as it was signed.
   */
  readonly confirm?: () => Promise<void>;
}

/**
 * Fetches every entry of a revision that has no object yet and commits the objects. A file that upstream lacks, has with other bytes or does
 * not send does not keep the others from being fetched. The fetched objects stay recorded, so that the next attempt continues from there.
 *
 * @throws UpstreamError, the storage error, what `confirm` throws, or the signal's reason; TaskError that names the files that failed
 */
export async function downloadUnresolved(
  parts: TaskParts,
  downloader: Downloader,
  what: DownloadRun,
  context: TaskContext,
): Promise<{ readonly entries: number; readonly bytes: number }> {
  const { catalogs } = parts;
  const { revisionId, staging, totalBytes, confirm = async () => undefined } = what;
  const concurrency = parts.configuration().downloadConcurrency;
  const downloads = pLimit(concurrency);
  let entries = 0;
  let bytes = 0;
  let received = 0;
  const noteWait = parts.waits.of(context);
  const failed = new FailedFiles();
  const failedRows: CatalogEntryRow[] = [];
  const sameBytes = new KeyedQueue();
  const fetched = createFetchedRecord(parts, revisionId);
  let confirmed: Promise<void> | null = null;
  const fetchOrNote = async (row: CatalogEntryRow, signal: AbortSignal): Promise<void> => {
    try {
      await fetch(row, signal);
    } catch (error) {
      signal.throwIfAborted();
      failed.add(row.destination, error);
      failedRows.push(row);
      await (confirmed ??= confirm());
      if (failed.isFull) throw failed.failure(what.entryCount, what.confirm === undefined);
    }
  };
  const fetch = async (row: CatalogEntryRow, signal: AbortSignal): Promise<void> => {
    const stagedPath = join(staging, stagedNameOf(row.destination));
    const digests = await downloads(
      async () =>
        await downloader.download(
          upstreamEntryOf(row),
          stagedPath,
          signal,
          (count) => {
            received += count;
            context.progress(received, totalBytes, 'bytes', 'download');
          },
          noteWait,
        ),
    );
    fetched.keep(row, await commitDownloaded(parts, stagedPath, digests, context.taskId));
    failed.fetched();
    entries += 1;
    bytes += digests.size;
  };
  try {
    await forEachConcurrently(
      catalogs.rows(revisionId, 'unresolved'),
      concurrency + COMMITS_IN_FLIGHT,
      context.signal,
      async (row, signal) => {
        const digest = row.stated_blake3;
        // Entries with the same bytes are fetched once.
        if (digest === null) await fetchOrNote(row, signal);
        else {
          await sameBytes.run(digest, async () => {
            const object = await fetched.before(digest);
            if (object === null) await fetchOrNote(row, signal);
            else fetched.keep(row, object);
          });
        }
      },
    );
    await takeFromElsewhere(failedRows, fetched, failed);
  } finally {
    fetched.write();
  }
  if (failed.count > 0) {
    await confirm();
    throw failed.failure(what.entryCount, what.confirm === undefined);
  }
  return { entries, bytes };
}

/** Forgets the files that failed and whose bytes upstream had in another place. */
async function takeFromElsewhere(
  rows: readonly CatalogEntryRow[],
  fetched: FetchedRecord,
  failed: FailedFiles,
): Promise<void> {
  for (const row of rows) {
    const object = row.stated_blake3 === null ? null : await fetched.before(row.stated_blake3);
    if (object === null) continue;
    fetched.keep(row, object);
    failed.forget(row.destination);
  }
}

interface FetchedRecord {
  /** An object with these bytes that is in the store; `null` when there is none. */
  before(digest: string): Promise<KnownObject | null>;
  keep(row: CatalogEntryRow, object: KnownObject): void;
  write(): void;
}

/** Creates what notes the fetched objects of a revision in the database, a batch at a time. */
function createFetchedRecord(
  { database, catalogs, objects, clock, writer }: TaskParts,
  revisionId: number,
): FetchedRecord {
  let batch: { readonly row: CatalogEntryRow; readonly object: KnownObject }[] = [];
  const write = (): void => {
    const done = batch;
    batch = [];
    if (done.length === 0) return;
    const verifiedAt = unixSeconds(clock);
    database.transaction(() => {
      for (const { row, object } of done) {
        objects.record(object, verifiedAt);
        catalogs.resolve(revisionId, row.destination, object.blake3);
      }
    });
  };
  return {
    before: async (digest) => {
      const waiting = batch.find((done) => done.object.blake3 === digest);
      if (waiting !== undefined) return waiting.object;
      const object = objects.get(digest);
      if (object?.sound !== true) return null;
      return (await writer.objectState(object.blake3, object.size)) === 'ok' ? object : null;
    },
    keep: (row, object) => {
      batch.push({ row, object });
      if (batch.length >= BATCH_ENTRIES) write();
    },
    write,
  };
}

/**
 * Moves a downloaded and hashed file into the store. If the store already has an object of this name that was found
 * damaged, that object is put aside first.
 *
 * @returns the facts now known about the object
 */
export async function commitDownloaded(
  {
    objects,
    writer,
    failpoints,
  }: {
    readonly objects: ObjectRegistry;
    readonly writer: SnapshotWriter;
    readonly failpoints: Failpoints;
  },
  stagedPath: string,
  digests: FileDigests,
  taskId: string,
): Promise<KnownObject> {
  failpoints.hit('release.entry.staged' satisfies ReleaseFailpoint);
  const isDamaged = objects.get(digests.blake3)?.sound === false;
  if (isDamaged) await writer.quarantine(digests.blake3, taskId);
  await writer.commitObject({ stagedPath, digests });
  // Before the database takes it for sound: a power failure could bring the damaged object back, which has the same size.
  if (isDamaged) await writer.flush();
  failpoints.hit('release.entry.committed' satisfies ReleaseFailpoint);
  return {
    blake3: digests.blake3,
    size: digests.size,
    crc64: digests.crc64,
    blocks: digests.blocks === null ? null : blake3Hex(digests.blocks),
  };
}
