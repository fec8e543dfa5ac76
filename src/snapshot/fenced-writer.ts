import type { Failpoints } from '../platform/files/failpoints.ts';
import type { SnapshotWriter } from './snapshot-writer.ts';
import type { WriteFence } from './volume/store-lease.ts';

/**
 * Makes every change of the volume pass the fence first, and each removal of a sweep as well.
 *
 * @throws from each changing method also StoreLeaseLostError and StoreLeaseExpiredError
 */
export function fenceWriter(writer: SnapshotWriter, fence: WriteFence): SnapshotWriter {
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

/** Checks the fence at every step of a write, too: a process can be paused between two steps for any time. */
export function fenceSteps(failpoints: Failpoints, fence: Pick<WriteFence, 'check'>): Failpoints {
  return {
    hit: (name) => {
      fence.check();
      failpoints.hit(name);
    },
  };
}
