import { openSnapshotWriter, type SnapshotWriter, type SnapshotWriterOptions } from './snapshot-writer.ts';
import type { WriteFence } from './volume/store-lease.ts';

/**
 * Opens a snapshot volume for the holder of its lease. Every change passes the fence first; every step within a change
 * and every removal of a sweep passes it again, because a process can be paused between two steps for any time.
 *
 * @returns a writer whose changing methods also throw StoreLeaseLostError and StoreLeaseExpiredError
 * @throws as {@link openSnapshotWriter}
 */
export async function openFencedWriter(
  options: Omit<SnapshotWriterOptions, 'check'>,
  fence: WriteFence,
): Promise<SnapshotWriter> {
  const check = (): void => {
    fence.check();
  };
  return fenceWriter(await openSnapshotWriter({ ...options, check }), fence);
}

/** Makes every change of the volume, and each removal of a sweep, pass the fence first. */
function fenceWriter(writer: SnapshotWriter, fence: WriteFence): SnapshotWriter {
  const after = async <T>(change: () => Promise<T>): Promise<T> => {
    await fence.confirm();
    return await change();
  };
  const checked =
    (isLive: Parameters<SnapshotWriter['sweepObjects']>[0]): typeof isLive =>
    (blake3) => {
      fence.check();
      return isLive(blake3);
    };
  return {
    ...writer,
    restoreFormat: () => after(() => writer.restoreFormat()),
    stagingDirectory: (taskId) => after(() => writer.stagingDirectory(taskId)),
    removeStaging: (taskId) => after(() => writer.removeStaging(taskId)),
    commitObject: (object) => after(() => writer.commitObject(object)),
    flush: () => after(() => writer.flush()),
    quarantine: (blake3, taskId) => after(() => writer.quarantine(blake3, taskId)),
    writeManifest: (taskId, header, entries) => after(() => writer.writeManifest(taskId, header, entries)),
    removeManifest: (snapshotId) => after(() => writer.removeManifest(snapshotId)),
    writeReleaseRecord: (record) => after(() => writer.writeReleaseRecord(record)),
    removeReleaseRecord: (channel, releaseId) => after(() => writer.removeReleaseRecord(channel, releaseId)),
    publishAttestation: (envelope, version) => after(() => writer.publishAttestation(envelope, version)),
    sweepObjects: (isLive, olderThanMs, signal) =>
      after(() => writer.sweepObjects(checked(isLive), olderThanMs, signal)),
    sweepManifests: (isLive, olderThanMs, signal) =>
      after(() => writer.sweepManifests(checked(isLive), olderThanMs, signal)),
    sweepQuarantine: (keep, signal) => after(() => writer.sweepQuarantine(keep, signal)),
  };
}
