import { randomUUID } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import type { ReleaseRecord } from '../contract/formats/release-record.ts';
import type { Channel } from '../domain/release/channel.ts';
import { manifestDigestOf, type Blake3Hex, type SnapshotId } from '../domain/release/digest.ts';
import type { ManifestEntry, ManifestHeader } from '../domain/release/manifest.ts';
import type { ReleaseId } from '../domain/release/release-id.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Failpoints } from '../platform/files/failpoints.ts';
import { writeProbe } from '../platform/files/write-probe.ts';
import * as attestations from './volume/attestation-files.ts';
import { errorCode } from '../platform/files/error-code.ts';
import { manifestPath, stagingRoot } from './volume/layout.ts';
import { createWriteSteps } from './volume/write-steps.ts';
import { changedLines, type ChangedManifest } from './manifest/changed-manifest.ts';
import { renderedLines, writeManifestFile, type WrittenManifest } from './manifest/manifest-writer.ts';
import { objectState, type FileState } from './objects/object-state.ts';
import { ObjectCommitter, type StagedObject } from './objects/object-committer.ts';
import * as records from './volume/release-records.ts';
import { openStore, restoreFormat, restoreStoreDirectories } from './volume/snapshot-store.ts';
import {
  createStagingDirectories,
  stagingPath,
  type StagingDirectories,
} from './volume/staging-directories.ts';
import { findWrongDirectories } from './volume/store-directories.ts';
import type { StoreRoot } from './volume/store-root.ts';
import * as sweeper from './volume/store-sweeper.ts';
import { rm } from '../platform/files/file-changes.ts';

/**
 * The only way to change a snapshot volume. A file is written before the files that refer to it: objects, their
 * directories, the manifest, the release record, the attestation. A crash between any two steps leaves either the previous
 * or the new release published. A directory of the store that was lost is created again. Errors of the file system keep
 * their `code`.
 */
export interface SnapshotWriter extends StagingDirectories {
  /** The id in FORMAT. */
  readonly storeId: string;
  /**
   * Compares what is at the path of the volume with this store.
   *
   * @throws StoreReplacedError when it is another store, an older copy, or nothing
   */
  confirmVolume(): Promise<void>;
  /** Writes a lost FORMAT again. The caller knows that the volume is this store. */
  restoreFormat(): Promise<void>;
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
  /**
   * As {@link writeManifest}, with the lines of another manifest of the volume. The caller compares the id with the one that it expects:
   * nothing else says whether the other manifest is sound and the changes fit.
   *
   * @throws SnapshotFault when the other manifest cannot be read
   */
  writeChangedManifest(
    taskId: string,
    header: ManifestHeader,
    changed: Omit<ChangedManifest, 'root'>,
  ): Promise<WrittenManifest>;
  /** Removes a manifest; does nothing when there is none. After a power failure it may be there again, and is swept. */
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
  /** Writes a file of this name into `tmp` and removes it again. @throws the error with which the volume refuses it */
  probe(name: string): Promise<void>;
}

export interface SnapshotWriterOptions {
  /** The volume; the caller closes it. */
  readonly root: StoreRoot;
  readonly failpoints: Failpoints;
  /** Called between two steps of a change; throws when it must not continue. */
  readonly check?: () => void;
  readonly clock: Clock;
  /** Gives the id of a store that is made now; a random UUID by default. */
  readonly newStoreId?: () => string;
}

/**
 * Opens a snapshot volume for writing; makes the store when the volume is empty. The caller holds the lock that makes it
 * the only writer.
 *
 * @throws StoreFormatError when the volume is something else; StoreReplacedError when it was another store before; the file system
 *   error
 */
export async function openSnapshotWriter(options: SnapshotWriterOptions): Promise<SnapshotWriter> {
  const { clock, root: volume } = options;
  const steps = createWriteSteps(options.failpoints, options.check);
  const named = createNaming(volume);
  const { store_id: storeId } = await named(() => openStore(volume.folder, options.newStoreId ?? randomUUID));
  await volume.bind(storeId);
  const committer = new ObjectCommitter(volume, steps);

  const inStore = createStoreGuard(volume, named);
  const inOwnDirectories = createStrictGuard(volume, inStore);

  const staging = createStagingDirectories({ volume, steps, named, inStore, inOwnDirectories });
  const writeLines = async (
    taskId: string,
    header: ManifestHeader,
    lines: () => AsyncIterable<Uint8Array>,
  ): Promise<WrittenManifest> => {
    await committer.flush();
    const directory = await staging.stagingDirectory(taskId);
    return await named(() =>
      writeManifestFile({ root: volume.folder, staging: directory, header, lines: lines(), steps }),
    );
  };
  return {
    storeId,
    confirmVolume: () => volume.confirm(),
    restoreFormat: () => named(() => restoreFormat(volume.folder, storeId)),
    ...staging,
    commitObject: (object) => inStore(() => committer.commit(object)),
    restoreBlockList: (object) => inStore(() => committer.restoreBlockList(object)),
    flush: () => named(() => committer.flush()),
    quarantine: async (blake3, taskId) => {
      stagingPath(volume.folder, taskId);
      return await inStore(() => committer.quarantine(blake3, taskId));
    },
    objectState: (blake3, size) => named(() => objectState(volume.folder, blake3, size)),
    writeManifest: async (taskId, header, entries) =>
      await writeLines(taskId, header, () => renderedLines(header, entries)),
    writeChangedManifest: async (taskId, header, changed) =>
      await writeLines(taskId, header, () => changedLines({ root: volume.folder, ...changed })),
    removeManifest: async (snapshotId) => {
      const digest = manifestDigestOf(snapshotId);
      if (digest === null) throw new RangeError(`not a snapshot id: ${snapshotId}`);
      await named(() => rm(manifestPath(volume.folder, digest), { force: true, recursive: true }));
    },
    writeReleaseRecord: (record) =>
      inOwnDirectories(() => records.writeReleaseRecord(volume.folder, record, steps)),
    readReleaseRecord: (channel, releaseId) =>
      named(() => records.readReleaseRecord(volume.folder, channel, releaseId)),
    listReleaseRecords: (channel) => named(() => records.listReleaseRecords(volume.folder, channel)),
    listReleaseIds: (channel) => named(() => records.listReleaseIds(volume.folder, channel)),
    removeReleaseRecord: (channel, releaseId) =>
      inOwnDirectories(() => records.removeReleaseRecord(volume.folder, channel, releaseId)),
    publishAttestation: async (envelope, version) => {
      await inOwnDirectories(() => attestations.publishAttestation(volume.folder, envelope, version, steps));
      volume.noteVersion(version);
    },
    readCurrentAttestation: () => named(() => attestations.readCurrentAttestation(volume.folder)),
    readAttestation: (version) => named(() => attestations.readAttestation(volume.folder, version)),
    listAttestationVersions: () => inStore(() => attestations.listAttestationVersions(volume.folder)),
    sweepObjects: (isLive, olderThanMs, signal) =>
      inOwnDirectories(() =>
        sweeper.sweepObjects(volume.folder, { isLive, before: clock.now() - olderThanMs, signal }),
      ),
    sweepManifests: (isLive, olderThanMs, signal) =>
      inOwnDirectories(() =>
        sweeper.sweepManifests(volume.folder, { isLive, before: clock.now() - olderThanMs, signal }),
      ),
    sweepQuarantine: ({ objects, bytes, ageMs }, signal) =>
      inOwnDirectories(() =>
        sweeper.sweepQuarantine(volume.folder, { objects, bytes, before: clock.now() - ageMs }, signal),
      ),
    freeBytes: async () => {
      const { bavail, bsize } = await named(() => statfs(volume.folder));
      return bavail * bsize;
    },
    probe: (name) => named(() => writeProbe(stagingRoot(volume.folder), name)),
  };
}

/** Errors of an operation when a directory of the store is missing, or something else is in its place. */
const LOST_DIRECTORY: ReadonlySet<string | null> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

type StoreGuard = <T>(operation: () => Promise<T>) => Promise<T>;

function createNaming(volume: StoreRoot): StoreGuard {
  return async (operation) => {
    try {
      return await operation();
    } catch (error) {
      throw volume.named(error);
    }
  };
}

/** @throws StoreReplacedError; what restoreStoreDirectories throws */
async function restoreDirectories(volume: StoreRoot): Promise<void> {
  await volume.confirm();
  await restoreStoreDirectories(volume.folder);
}

function createStoreGuard(volume: StoreRoot, named: StoreGuard): StoreGuard {
  return async (operation) =>
    await named(async () => {
      try {
        return await operation();
      } catch (error) {
        if (!LOST_DIRECTORY.has(errorCode(error))) throw error;
        await restoreDirectories(volume);
        return await operation();
      }
    });
}

/**
 * Creates the same function, which also looks at the directories first: an operation would succeed in the target of a
 * symbolic link.
 */
function createStrictGuard(volume: StoreRoot, inStore: StoreGuard): StoreGuard {
  return async (operation) =>
    await inStore(async () => {
      const wrong = await findWrongDirectories(volume.folder);
      if (wrong.length > 0) await restoreDirectories(volume);
      return await operation();
    });
}
