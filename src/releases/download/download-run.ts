import type { TaskParts } from '../release-parts.ts';
import type { FileDigests } from '../../platform/hashing/digests.ts';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import { KeyedQueue } from '../../snapshot/objects/keyed-queue.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import type { TaskContext } from '../../engine/tasks/task.ts';
import type { Downloader } from '../../upstream/http/downloader.ts';
import { forEachConcurrently } from '../../platform/process/concurrently.ts';
import { upstreamEntryOf, type CatalogEntryRow, type KnownObject } from '../records/entry-row.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseFailpoint } from '../jobs/release-failpoints.ts';
import type { NoteWait } from '../../mirror/attested-source.ts';
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

/**
 * Fetches every entry of a revision that has no object yet and commits the objects. When an entry fails, the fetched
 * objects stay recorded, so that the next attempt continues from there.
 *
 * @param staging a directory of the store with the same name in every attempt, for resumable parts
 * @throws UpstreamError, the storage error, or the signal's reason
 */
export async function downloadUnresolved(
  parts: TaskParts,
  downloader: Downloader,
  what: { readonly revisionId: number; readonly staging: string; readonly totalBytes: number },
  context: TaskContext,
): Promise<{ readonly entries: number; readonly bytes: number }> {
  const { database, catalogs, objects, clock } = parts;
  const { revisionId, staging, totalBytes } = what;
  const concurrency = parts.configuration().downloadConcurrency;
  const downloads = pLimit(concurrency);
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
    return (await parts.writer.objectState(object.blake3, object.size)) === 'ok' ? object : null;
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
    keep(row, await commitDownloaded(parts, stagedPath, digests, context.taskId));
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

/** Shortest wait that gets a line, milliseconds: people do not notice shorter ones. */
const NOTED_MS = 5_000;

/**
 * Creates what writes the waits for upstream into the log of a task. Many downloads wait for the same reason at the same time, so a wait
 * that begins during another one gets no line.
 */
export function createWaitLog(clock: Clock, context: TaskContext): NoteWait {
  let until = 0;
  return (why, ms) => {
    const startedAt = clock.now();
    if (ms < NOTED_MS || startedAt < until) return;
    until = startedAt + ms;
    context.log('warn', `upstream is asked again at ${new Date(until).toISOString()}: ${why}`, {
      wait_ms: ms,
    });
  };
}
