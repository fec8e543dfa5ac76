import { openSnapshotWriter, type SnapshotWriter, type SnapshotWriterOptions } from './snapshot-writer.ts';
import type { WriteFence } from './volume/store-lease.ts';

/**
 * Opens a snapshot volume for the holder of its lease. Every change passes the fence first; every step within a change
 * and every removal of a sweep passes it again, because a process can be paused between two steps for any time.
 *
 * The store at the path of the volume is compared before each change, except for those that a task makes for every object: the
 * renewal of the lease compares it for them, and they go into the folder that was opened.
 *
 * @returns a writer whose changing methods also throw StoreLeaseLostError, StoreLeaseExpiredError and StoreReplacedError
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

function fenceWriter(writer: SnapshotWriter, fence: WriteFence): SnapshotWriter {
  const after = async <T>(change: () => Promise<T>): Promise<T> => {
    await fence.confirm();
    return await change();
  };
  const compared = async <T>(change: () => Promise<T>): Promise<T> => {
    await writer.confirmVolume();
    return await after(change);
  };
  const checked =
    (isLive: Parameters<SnapshotWriter['sweepObjects']>[0]): typeof isLive =>
    (blake3) => {
      fence.check();
      return isLive(blake3);
    };
  return {
    ...writer,
    commitObject: (object) => after(() => writer.commitObject(object)),
    restoreBlockList: (object) => after(() => writer.restoreBlockList(object)),
    flush: () => after(() => writer.flush()),
    restoreFormat: () => compared(() => writer.restoreFormat()),
    stagingDirectory: (taskId) => compared(() => writer.stagingDirectory(taskId)),
    removeStaging: (taskId) => compared(() => writer.removeStaging(taskId)),
    removeStaged: (taskId, name) => compared(() => writer.removeStaged(taskId, name)),
    quarantine: (blake3, taskId) => compared(() => writer.quarantine(blake3, taskId)),
    writeManifest: (taskId, header, entries) => compared(() => writer.writeManifest(taskId, header, entries)),
    writeChangedManifest: (taskId, header, changed) =>
      compared(() => writer.writeChangedManifest(taskId, header, changed)),
    removeManifest: (snapshotId) => compared(() => writer.removeManifest(snapshotId)),
    writeReleaseRecord: (record) => compared(() => writer.writeReleaseRecord(record)),
    removeReleaseRecord: (channel, releaseId) =>
      compared(() => writer.removeReleaseRecord(channel, releaseId)),
    publishAttestation: (envelope, version) => compared(() => writer.publishAttestation(envelope, version)),
    sweepObjects: (isLive, olderThanMs, signal) =>
      compared(() => writer.sweepObjects(checked(isLive), olderThanMs, signal)),
    sweepManifests: (isLive, olderThanMs, signal) =>
      compared(() => writer.sweepManifests(checked(isLive), olderThanMs, signal)),
    sweepQuarantine: (keep, signal) => compared(() => writer.sweepQuarantine(keep, signal)),
  };
}
