import { join } from 'node:path';
import pLimit from 'p-limit';
import type { FileDigests } from '../../../platform/hashing/digests.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { Failpoints } from '../../../platform/files/failpoints.ts';
import { KeyedQueue } from '../../../snapshot/objects/keyed-queue.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { TaskContext } from '../../tasks/task.ts';
import type { Downloader } from '../../upstream/http/downloader.ts';
import type { CatalogStore } from '../catalog/catalog-store.ts';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import { upstreamEntryOf, type CatalogEntryRow, type KnownObject } from '../records/entry-row.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseFailpoint } from '../jobs/release-failpoints.ts';
import { createWaitLog } from './wait-log.ts';
import type { SqlDatabase } from '../records/sql.ts';

/** Fetched entries that are written to the database in one transaction. */
const BATCH_ENTRIES = 128;

/**
 * Maximum number of files being flushed to disk while others are downloaded. The disk flushes many files together about
 * as fast as one, so a download does not wait until the previous file is flushed.
 */
const COMMITS_IN_FLIGHT = 16;

export interface DownloadRunDependencies {
  readonly database: SqlDatabase;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly writer: Pick<SnapshotWriter, 'commitObject' | 'quarantine' | 'objectState'>;
  readonly downloader: Downloader;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
  readonly concurrency: number;
}

export interface DownloadOutcome {
  readonly entries: number;
  readonly bytes: number;
}

/**
 * Fetches every entry of a revision that has no object yet and commits the objects. When an entry fails, the fetched
 * objects stay recorded, so that the next attempt continues from there.
 *
 * @param staging a directory of the store with the same name in every attempt, for resumable parts
 * @throws UpstreamError, the storage error, or the signal's reason
 */
export async function downloadUnresolved(
  deps: DownloadRunDependencies,
  revisionId: number,
  staging: string,
  totalBytes: number,
  context: TaskContext,
): Promise<DownloadOutcome> {
  const { database, catalogs, objects, clock } = deps;
  const downloads = pLimit(deps.concurrency);
  let entries = 0;
  let bytes = 0;
  let received = 0;
  let batch: { readonly row: CatalogEntryRow; readonly object: KnownObject }[] = [];
  const noteWait = createWaitLog(clock, context);
  const sameBytes = new KeyedQueue();
  const fetchedBefore = async (digest: string): Promise<KnownObject | null> => {
    const waiting = batch.find((done) => done.object.blake3 === digest);
    if (waiting !== undefined) return waiting.object;
    const object = objects.get(digest);
    if (object?.sound !== true) return null;
    return (await deps.writer.objectState(object.blake3, object.size)) === 'ok' ? object : null;
  };
  const record = (): void => {
    const done = batch;
    batch = [];
    const verifiedAt = unixSeconds(clock);
    database.transaction(() => {
      for (const { row, object } of done) {
        objects.record(object, verifiedAt);
        catalogs.resolve(revisionId, row.destination, object.blake3);
      }
    });
  };
  const keep = (row: CatalogEntryRow, object: KnownObject): void => {
    batch.push({ row, object });
    if (batch.length >= BATCH_ENTRIES) record();
  };
  const fetch = async (row: CatalogEntryRow, signal: AbortSignal): Promise<void> => {
    const stagedPath = join(staging, blake3Hex(Buffer.from(row.destination)));
    const digests = await downloads(
      async () =>
        await deps.downloader.download(
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
    keep(row, await commitDownloaded(deps, stagedPath, digests, context.taskId));
    entries += 1;
    bytes += digests.size;
  };
  try {
    await forEachConcurrently(
      catalogs.rows(revisionId, 'unresolved'),
      deps.concurrency + COMMITS_IN_FLIGHT,
      context.signal,
      async (row, signal) => {
        const digest = row.stated_blake3;
        // Entries with the same bytes are fetched once.
        if (digest === null) await fetch(row, signal);
        else {
          await sameBytes.run(digest, async () => {
            const object = await fetchedBefore(digest);
            if (object === null) await fetch(row, signal);
            else keep(row, object);
          });
        }
      },
    );
  } finally {
    if (batch.length > 0) record();
  }
  return { entries, bytes };
}

/**
 * Moves a downloaded and hashed file into the store. If the store already has an object of this name that was found
 * damaged, that object is put aside first.
 *
 * @returns the facts now known about the object
 */
export async function commitDownloaded(
  deps: Pick<DownloadRunDependencies, 'objects' | 'writer' | 'failpoints'>,
  stagedPath: string,
  digests: FileDigests,
  taskId: string,
): Promise<KnownObject> {
  const hit = (name: ReleaseFailpoint): void => {
    deps.failpoints.hit(name);
  };
  hit('release.entry.staged');
  if (deps.objects.get(digests.blake3)?.sound === false) await deps.writer.quarantine(digests.blake3, taskId);
  await deps.writer.commitObject({ stagedPath, digests });
  hit('release.entry.committed');
  return {
    blake3: digests.blake3,
    size: digests.size,
    crc64: digests.crc64,
    blocks: digests.blocks === null ? null : blake3Hex(digests.blocks),
  };
}
