import { randomUUID } from 'node:crypto';
import { readdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReleaseRecord } from '../contract/formats/release-record.ts';
import type { Channel } from '../domain/release/channel.ts';
import { manifestDigestOf, type Blake3Hex, type SnapshotId } from '../domain/release/digest.ts';
import type { ManifestEntry, ManifestHeader } from '../domain/release/manifest.ts';
import type { ReleaseId } from '../domain/release/release-id.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Failpoints } from '../platform/files/failpoints.ts';
import { fsyncDirectory, makeDirectory } from '../platform/files/files.ts';
import * as attestations from './volume/attestation-files.ts';
import { errorCode } from '../platform/files/error-code.ts';
import { manifestPath, stagingRoot } from './volume/layout.ts';
import { STAGING_FAILPOINT } from './volume/snapshot-failpoints.ts';
import { createWriteSteps, type WriteSteps } from './volume/write-steps.ts';
import { writeManifestFile, type WrittenManifest } from './manifest/manifest-writer.ts';
import { objectState, type FileState } from './objects/object-state.ts';
import { ObjectCommitter, type StagedObject } from './objects/object-committer.ts';
import * as records from './volume/release-records.ts';
import { openStore, restoreFormat, restoreStoreDirectories } from './volume/snapshot-store.ts';
import { findWrongDirectories } from './volume/store-directories.ts';
import * as sweeper from './volume/store-sweeper.ts';

/**
 * The only way to change a snapshot volume. A file is written before the files that refer to it: objects, their
 * directories, the manifest, the release record, the attestation. A crash between any two steps leaves either the previous
 * or the new release published. A directory of the store that was lost is created again. Errors of the file system keep
 * their `code`.
 */
export interface SnapshotWriter {
  /** The id in FORMAT. */
  readonly storeId: string;
  /** Writes a lost FORMAT again. The caller knows that the volume is this store. */
  restoreFormat(): Promise<void>;
  /** `tmp/<task_id>`, made when it is not there. Files in it can be committed by a rename. */
  stagingDirectory(taskId: string): Promise<string>;
  /** The task ids that have a staging directory. */
  listStaging(): Promise<string[]>;
  /** Removes a staging directory with all that is in it; does nothing when there is none. */
  removeStaging(taskId: string): Promise<void>;
  /**
   * Moves a staged file into the store and writes its block list if it is large. The digests must be of exactly its
   * bytes. If an object of the right size already exists, it is kept and the staged file removed; anything else in
   * its place is quarantined. Durable after {@link flush}.
   */
  commitObject(object: StagedObject): Promise<void>;
  /**
   * Writes the block list of an object that is in the store again, if it is large and the list is lost or wrong. The
   * digests must be of exactly its bytes; the list is written beside the staged path first. Durable after {@link flush}.
   *
   * @returns false when no object of this size is there
   */
  restoreBlockList(object: StagedObject): Promise<boolean>;
  /** Makes the names of everything committed so far durable. */
  flush(): Promise<void>;
  /** Moves an object and its block list out of the store for diagnosis; false when there was no object. */
  quarantine(blake3: Blake3Hex, taskId: string): Promise<boolean>;
  /** Whether an object of this size, with its block list, is there; looks at the metadata only. */
  objectState(blake3: Blake3Hex, size: number): Promise<FileState>;
  /**
   * Flushes, then writes a manifest durably. The same content always gets the same snapshot id.
   *
   * @param entries in the byte order of their destinations, as many and as large as the header announces
   * @throws ManifestContentError when they are not
   */
  writeManifest(
    taskId: string,
    header: ManifestHeader,
    entries: Iterable<ManifestEntry> | AsyncIterable<ManifestEntry>,
  ): Promise<WrittenManifest>;
  /** Removes a manifest durably; does nothing when there is none. */
  removeManifest(snapshotId: SnapshotId): Promise<void>;
  /** Writes a record durably. Throws ReleaseRecordError when another one of this name is there. */
  writeReleaseRecord(record: ReleaseRecord): Promise<void>;
  /** `null` when there is none. Throws ReleaseRecordError when it is damaged. */
  readReleaseRecord(channel: Channel, releaseId: ReleaseId): Promise<ReleaseRecord | null>;
  /** Every record of a channel that can be read. Throws ReleaseRecordError at the first that is damaged. */
  listReleaseRecords(channel: Channel): Promise<ReleaseRecord[]>;
  /** The ids of the records of a channel, whether or not they can be read. */
  listReleaseIds(channel: Channel): Promise<ReleaseId[]>;
  removeReleaseRecord(channel: Channel, releaseId: ReleaseId): Promise<void>;
  /** Writes the envelope into the history, then over `current.json`; both durable when it resolves. */
  publishAttestation(envelope: Uint8Array, version: number): Promise<void>;
  readCurrentAttestation(): Promise<Buffer | null>;
  /** An envelope of the history, or `null`. */
  readAttestation(version: number): Promise<Buffer | null>;
  /** Versions in the history, newest first. */
  listAttestationVersions(): Promise<number[]>;
  /** Removes objects that are not live and were put in place more than `olderThanMs` milliseconds ago. */
  sweepObjects(
    isLive: (blake3: Blake3Hex) => boolean,
    olderThanMs: number,
    signal?: AbortSignal,
  ): Promise<sweeper.SweepResult>;
  /** Removes manifests by the same rule. */
  sweepManifests(
    isLive: (blake3: Blake3Hex) => boolean,
    olderThanMs: number,
    signal?: AbortSignal,
  ): Promise<sweeper.SweepResult>;
  /** Removes what the quarantine holds beyond these bounds, the oldest first. */
  sweepQuarantine(
    keep: { readonly objects: number; readonly bytes: number; readonly ageMs: number },
    signal?: AbortSignal,
  ): Promise<sweeper.SweepResult>;
  /** Bytes that an unprivileged writer may still use. */
  freeBytes(): Promise<number>;
}

export interface SnapshotWriterOptions {
  readonly root: string;
  readonly failpoints: Failpoints;
  /** Called between two steps of a change; throws when it must not continue. */
  readonly check?: () => void;
  readonly clock: Clock;
  /** Gives the id of a store that is made now; a random UUID by default. */
  readonly newStoreId?: () => string;
}

const TASK_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/**
 * Opens a snapshot volume for writing; makes the store when the volume is empty. The caller holds the lock that makes it
 * the only writer.
 *
 * @throws StoreFormatError when the volume is something else; the file system error
 */
export async function openSnapshotWriter(options: SnapshotWriterOptions): Promise<SnapshotWriter> {
  const { root, clock } = options;
  const steps = createWriteSteps(options.failpoints, options.check);
  const format = await openStore(root, options.newStoreId ?? randomUUID);
  const committer = new ObjectCommitter(root, steps);

  const inStore = createStoreGuard(root, format.store_id);
  const inOwnDirectories = createStrictGuard(root, format.store_id, inStore);

  const stagingDirectory = async (taskId: string): Promise<string> => {
    const path = stagingPath(root, taskId);
    await inOwnDirectories(() => makeDirectory(path));
    return path;
  };

  return {
    storeId: format.store_id,
    restoreFormat: async () => {
      await restoreFormat(root, format.store_id);
    },
    stagingDirectory,
    listStaging: async () =>
      (await inStore(() => readdir(stagingRoot(root)))).filter((name) => TASK_ID.test(name)).sort(),
    removeStaging: async (taskId) => {
      await removeStaging(root, taskId, steps);
    },
    commitObject: async (object) => {
      await inStore(() => committer.commit(object));
    },
    restoreBlockList: async (object) => await inStore(() => committer.restoreBlockList(object)),
    flush: async () => {
      await committer.flush();
    },
    quarantine: async (blake3, taskId) => {
      stagingPath(root, taskId);
      return await inStore(() => committer.quarantine(blake3, taskId));
    },
    objectState: async (blake3, size) => await objectState(root, blake3, size),
    writeManifest: async (taskId, header, entries) => {
      await committer.flush();
      const staging = await stagingDirectory(taskId);
      return await writeManifestFile({ root, staging, header, entries, steps });
    },
    removeManifest: async (snapshotId) => {
      const digest = manifestDigestOf(snapshotId);
      if (digest === null) throw new RangeError(`not a snapshot id: ${snapshotId}`);
      await rm(manifestPath(root, digest), { force: true, recursive: true });
      await inStore(() => fsyncDirectory(join(root, 'manifests')));
    },
    writeReleaseRecord: async (record) => {
      await inOwnDirectories(() => records.writeReleaseRecord(root, record, steps));
    },
    readReleaseRecord: async (channel, releaseId) =>
      await records.readReleaseRecord(root, channel, releaseId),
    listReleaseRecords: async (channel) => await records.listReleaseRecords(root, channel),
    listReleaseIds: async (channel) => await records.listReleaseIds(root, channel),
    removeReleaseRecord: async (channel, releaseId) => {
      await inOwnDirectories(() => records.removeReleaseRecord(root, channel, releaseId));
    },
    publishAttestation: async (envelope, version) => {
      await inOwnDirectories(() => attestations.publishAttestation(root, envelope, version, steps));
    },
    readCurrentAttestation: async () => await attestations.readCurrentAttestation(root),
    readAttestation: async (version) => await attestations.readAttestation(root, version),
    listAttestationVersions: async () => await inStore(() => attestations.listAttestationVersions(root)),
    sweepObjects: async (isLive, olderThanMs, signal) =>
      await inOwnDirectories(() =>
        sweeper.sweepObjects(root, { isLive, before: clock.now() - olderThanMs, signal }),
      ),
    sweepManifests: async (isLive, olderThanMs, signal) =>
      await inOwnDirectories(() =>
        sweeper.sweepManifests(root, { isLive, before: clock.now() - olderThanMs, signal }),
      ),
    sweepQuarantine: async ({ objects, bytes, ageMs }, signal) =>
      await inOwnDirectories(() =>
        sweeper.sweepQuarantine(root, { objects, bytes, before: clock.now() - ageMs }, signal),
      ),
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(root);
      return bavail * bsize;
    },
  };
}

/** Errors of an operation when a directory of the store is missing, or something else is in its place. */
const LOST_DIRECTORY: ReadonlySet<string | null> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/** Creates the function that runs an operation, and again when a directory of the store was missing and is restored. */
function createStoreGuard(root: string, storeId: string): StoreGuard {
  return async (operation) => {
    try {
      return await operation();
    } catch (error) {
      if (!LOST_DIRECTORY.has(errorCode(error))) throw error;
      await restoreStoreDirectories(root, storeId);
      return await operation();
    }
  };
}

type StoreGuard = <T>(operation: () => Promise<T>) => Promise<T>;

/**
 * Creates the same function, which also looks at the directories first: an operation would succeed in the target of a
 * symbolic link.
 */
function createStrictGuard(root: string, storeId: string, inStore: StoreGuard): StoreGuard {
  return async (operation) => {
    if ((await findWrongDirectories(root)).length > 0) await restoreStoreDirectories(root, storeId);
    return await inStore(operation);
  };
}

/** The rename comes first: `openStore` removes what a process leaves behind that dies during the removal. */
async function removeStaging(root: string, taskId: string, steps: WriteSteps): Promise<void> {
  const removed = join(stagingRoot(root), `.${taskId}.${randomUUID()}.tmp`);
  try {
    await rename(stagingPath(root, taskId), removed);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  steps.passed(STAGING_FAILPOINT);
  await rm(removed, { recursive: true, force: true });
}

function stagingPath(root: string, taskId: string): string {
  // Task ids become names of files: nothing that a path could be made of.
  if (!TASK_ID.test(taskId))
    throw new RangeError(`not usable as the name of a directory: ${JSON.stringify(taskId)}`);
  return join(stagingRoot(root), taskId);
}
