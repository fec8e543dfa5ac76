import type { ManifestHeader } from '../../../domain/release/manifest.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { Failpoints } from '../../../platform/files/failpoints.ts';
import type { SnapshotWriter } from '../../../snapshot/volume/snapshot-writer.ts';
import { TaskError, type TaskContext } from '../../tasks/task.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { CatalogStore } from '../catalog/catalog-store.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseCheck } from '../checks/release-check.ts';
import type { ReleaseDraft } from '../records/release-draft.ts';
import { manifestEntries } from '../records/release-entries.ts';
import type { ReleaseFailpoint } from '../release-failpoints.ts';
import { headerOf, newRelease, recordOf } from '../records/release-record-of.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import type { SqlDatabase } from '../records/sql.ts';

/** What publishing is made of. */
export interface PublisherDependencies {
  readonly database: SqlDatabase;
  readonly releases: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly writer: SnapshotWriter;
  readonly attestor: Attestor;
  readonly check: ReleaseCheck;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
  /** Seconds after which an object is hashed again before a release that holds it becomes current. */
  readonly reverifyAfterSeconds: () => number;
}

/** Registers releases and makes them current, in the order of the write protocol. */
export interface Publisher {
  /**
   * Makes a release durable: objects, then the manifest, then the record, then the database (`verified`). What is
   * served does not change.
   *
   * @throws the storage error; TaskError `release_incomplete`, `release_conflict`, `release_damaged`
   */
  register(draft: ReleaseDraft, context: TaskContext): Promise<ReleaseRow>;
  /**
   * Makes a registered release current: the attestation, then the database. Not interrupted by cancellation.
   *
   * @returns the version of the attestation that says so
   */
  makeCurrent(release: ReleaseRow, context: TaskContext): Promise<number>;
  /** Writes the manifest and the record of a registered release again. Throws TaskError `manifest_differs`. */
  rewrite(release: ReleaseRow, taskId: string): Promise<void>;
}

/** Creates the publisher. */
export function createPublisher(deps: PublisherDependencies): Publisher {
  const { database, releases, writer, clock } = deps;
  const now = (): number => Math.floor(clock.now() / 1000);
  const hit = (name: ReleaseFailpoint): void => {
    deps.failpoints.hit(name);
  };

  const writeManifest = async (
    header: ManifestHeader,
    revisionId: number,
    taskId: string,
  ): Promise<{
    readonly written: Awaited<ReturnType<SnapshotWriter['writeManifest']>>;
    readonly verifiedAt: number;
  }> => {
    let verifiedAt = now();
    const entries = manifestEntries(deps, revisionId, (object) => {
      verifiedAt = Math.min(verifiedAt, object.verifiedAt);
    });
    return { written: await writer.writeManifest(taskId, header, entries), verifiedAt };
  };

  /** Takes the name, and clears away what an attempt with other content left under it. */
  const reserve = async (draft: ReleaseDraft): Promise<ReleaseRow> => {
    const held = releases.get(draft.channel, draft.releaseId);
    if (held === null) {
      const release = newRelease(draft, now());
      releases.insert(release);
      return release;
    }
    if (held.content_digest === draft.content.digest) return held;
    if (held.published_at !== null || !['staging', 'failed'].includes(held.state)) {
      throw new TaskError(
        'release_conflict',
        `release ${draft.releaseId} exists with other content; the bytes under a release id never change`,
      );
    }
    await writer.removeReleaseRecord(draft.channel, draft.releaseId);
    if (held.snapshot_id !== null) await writer.removeManifest(held.snapshot_id);
    releases.update(draft.channel, draft.releaseId, {
      ...newRelease(draft, now()),
      state: 'staging',
      snapshot_id: null,
      manifest_sha256: null,
    });
    return newRelease(draft, now());
  };

  return {
    register: async (draft, context) => {
      const held = await reserve(draft);
      const release: ReleaseRow = { ...held, revision_id: draft.revisionId };
      await writer.flush();
      hit('release.objects.flushed');
      context.progress(0, draft.content.entryCount, 'entries', 'manifest');
      const { written, verifiedAt } = await writeManifest(
        headerOf(release),
        draft.revisionId,
        context.taskId,
      );
      if (held.snapshot_id !== null && held.snapshot_id !== written.snapshotId) {
        throw new TaskError(
          'release_conflict',
          `the manifest of release ${draft.releaseId} would change from ${held.snapshot_id} to ${written.snapshotId}`,
        );
      }
      hit('release.manifest.written');
      const whole: ReleaseRow = {
        ...release,
        snapshot_id: written.snapshotId,
        manifest_sha256: written.sha256,
      };
      // A damaged record would be taken for another release of this name.
      if (held.state === 'damaged') await writer.removeReleaseRecord(draft.channel, draft.releaseId);
      await writer.writeReleaseRecord(recordOf(whole));
      hit('release.record.written');
      await deps.check.presence(whole, context.signal);
      const soundSince =
        verifiedAt <= now() - deps.reverifyAfterSeconds() || held.state === 'damaged'
          ? await deps.check.fully(whole, context)
          : verifiedAt;
      if (deps.objects.hasDamaged(draft.revisionId)) {
        throw new TaskError(
          'release_damaged',
          `an object of release ${draft.releaseId} was found damaged; the next attempt fetches it again`,
          { retryable: true },
        );
      }
      const isCurrent = releases.pointer(draft.channel)?.release_id === draft.releaseId;
      database.transaction(() => {
        releases.clearDamage(draft.channel, draft.releaseId);
        releases.update(draft.channel, draft.releaseId, {
          state: isCurrent ? 'current' : 'verified',
          revision_id: draft.revisionId,
          snapshot_id: written.snapshotId,
          manifest_sha256: written.sha256,
          verified_at: soundSince,
          checked_at: now(),
          damaged_at: null,
          damage_reason: null,
          damage_message: null,
          deleted_at: null,
        });
      });
      hit('release.database.verified');
      const registered = releases.get(draft.channel, draft.releaseId);
      if (registered === null) throw new Error(`release ${draft.releaseId} vanished while it was registered`);
      return registered;
    },
    makeCurrent: (release, context) =>
      context.commit(() => deps.attestor.switchTo(release.channel, release.release_id)),
    rewrite: async (release, taskId) => {
      if (release.revision_id === null) {
        throw new TaskError(
          'manifest_differs',
          `the entries of release ${release.release_id} are not in the database`,
        );
      }
      const { written } = await writeManifest(headerOf(release), release.revision_id, taskId);
      if (written.snapshotId !== release.snapshot_id) {
        await writer.removeManifest(written.snapshotId);
        throw new TaskError(
          'manifest_differs',
          `the manifest of release ${release.release_id} cannot be rebuilt: the database gives ${written.snapshotId}, ` +
            `the release is ${release.snapshot_id ?? 'not complete'}`,
        );
      }
      await writer.removeReleaseRecord(release.channel, release.release_id);
      await writer.writeReleaseRecord(recordOf(release));
    },
  };
}
