import type { ReleasesConfiguration } from '../releases-configuration.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import { TaskError, type TaskContext } from '../../engine/tasks/task.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { CatalogStore } from '../catalog/catalog-store.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import {
  cannotRegister,
  describe,
  isSound,
  type CheckOrigin,
  type Registrar,
  type ReleaseCheck,
  type ReleaseFindings,
} from '../checks/release-check.ts';
import { headerOf, newRelease, recordOf, type ReleaseDraft } from '../records/release-record-of.ts';
import { manifestEntries } from '../catalog/catalog-entries.ts';
import type { ReleaseFailpoint } from '../jobs/release-failpoints.ts';
import { manifestEntryOf } from '../records/entry-row.ts';
import { SnapshotFault } from '../../snapshot/volume/snapshot-fault.ts';
import type { ManifestChange } from '../../domain/release/manifest.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { documentColumns, documentOfRow, UNDAMAGED, type ReleaseRow } from '../records/release-row.ts';
import type { SqlDatabase } from '../records/sql.ts';

interface PublisherOptions {
  readonly database: SqlDatabase;
  readonly releases: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly writer: SnapshotWriter;
  readonly attestor: Attestor;
  readonly check: ReleaseCheck;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
  readonly configuration: () => ReleasesConfiguration;
}

/** The version of the new attestation, and when the release becomes current if it is announced, Unix seconds. */
export interface Published {
  readonly version: number;
  readonly currentAt: number | null;
}

/** Registers releases and makes them current, in the order of the write protocol. */
export interface Publisher {
  /**
   * Makes a release durable: objects, then the manifest, then the record, then the database (`verified`). Clients still
   * get the same content as before. A release with the same content only gets the server-info document of the draft.
   *
   * @throws the storage error; TaskError `release_incomplete`, `release_conflict`, `release_damaged`
   */
  register(draft: ReleaseDraft, context: TaskContext): Promise<ReleaseRow>;
  /**
   * Makes a registered release current: first the attestation, then the database. Cancellation does not interrupt it.
   *
   * @returns the version of the new attestation
   */
  makeCurrent(release: ReleaseRow, context: TaskContext): Promise<number>;
  announceOrSwitch(release: ReleaseRow, context: TaskContext): Promise<Published>;
  /**
   * Leaves a channel without a current release. Cancellation does not interrupt it.
   *
   * @returns the version of the new attestation, or `null` when nothing may be attested
   */
  withdraw(channel: Channel, context: TaskContext): Promise<number | null>;
  /**
   * Takes the announcement of a channel back.
   *
   * @returns the version of the new attestation, or `null` when there is none, for example because nothing was announced
   */
  cancelAnnouncement(channel: Channel, context: TaskContext): Promise<number | null>;
  /**
   * Hashes a whole registered release before it becomes current again. Damage is recorded and attested.
   *
   * @throws TaskError `release_damaged`
   */
  reverify(release: ReleaseRow, context: TaskContext): Promise<void>;
  /**
   * Checks whether a registered release has all its objects, for a task that could not read them. Damage is recorded and attested.
   *
   * @throws TaskError `release_damaged`
   */
  requirePresent(release: ReleaseRow, context: TaskContext): Promise<void>;
  /** Writes the manifest and the record of a registered release again. Throws TaskError `manifest_differs`. */
  rewrite(release: ReleaseRow, taskId: string): Promise<void>;
}

export function createPublisher(options: PublisherOptions): Publisher {
  return {
    register: (draft, context) => register(options, draft, context),
    makeCurrent: (release, context) =>
      context.commit(() => options.attestor.switchTo(release.channel, release.release_id)),
    announceOrSwitch: (release, context) => announceOrSwitch(options, release, context),
    cancelAnnouncement: (channel, context) =>
      context.commit(() => options.attestor.cancelAnnouncement(channel)),
    withdraw: (channel, context) => context.commit(() => options.attestor.withdraw(channel)),
    reverify: (release, context) => reverify(options, release, context),
    requirePresent: (release, context) => requirePresent(options, release, context),
    rewrite: (release, taskId) => rewrite(options, release, taskId),
  };
}

async function register(
  options: PublisherOptions,
  draft: ReleaseDraft,
  context: TaskContext,
): Promise<ReleaseRow> {
  const { writer, failpoints } = options;
  const hit = (name: ReleaseFailpoint): void => {
    failpoints.hit(name);
  };
  const held = await reserve(options, draft);
  await writer.flush();
  hit('release.objects.flushed');
  context.progress(0, draft.content.entryCount, 'entries', 'manifest');
  const release: ReleaseRow = {
    ...held,
    revision_id: draft.revisionId,
    ...documentColumns(draft.serverInfo),
    excluded_count: draft.excludedCount,
  };
  const { written, verifiedAt } =
    (await writeChanged(options, release, draft, context.taskId)) ??
    (await writeManifest(options, release, draft.revisionId, context.taskId));
  requireSigned(draft, written.snapshotId);
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
  // A damaged record would be treated as another release of this name.
  if (held.state === 'damaged') await writer.removeReleaseRecord(draft.channel, draft.releaseId);
  await writer.writeReleaseRecord(recordOf(whole));
  hit('release.record.written');
  const verified: ReleaseRow = {
    ...whole,
    verified_at: await requireSound(options, whole, { registrar: registrarOf(draft), verifiedAt }, context),
  };
  recordVerified(options, verified);
  hit('release.database.verified');
  const registered = options.releases.get(draft.channel, draft.releaseId);
  if (registered === null) throw new Error(`release ${draft.releaseId} vanished while it was registered`);
  return registered;
}

/** Refuses a manifest that is not the one that the origin signed: its entries state other facts about the same bytes. */
function requireSigned({ releaseId, origin }: ReleaseDraft, written: SnapshotId): void {
  // The cleanup removes the manifest that was written, unless a release names it.
  if (origin === undefined || origin.snapshotId === written) return;
  throw new TaskError(
    'origin_manifest_differs',
    `the manifest of release ${releaseId} is ${written}, and the origin signed ${origin.snapshotId}: it states a wrong CRC-64 or block list`,
  );
}

/** Reserves the name. Removes a release of an earlier attempt that has other content and never became current. */
async function reserve(
  { releases, writer, clock }: PublisherOptions,
  draft: ReleaseDraft,
): Promise<ReleaseRow> {
  const fresh = newRelease(draft, unixSeconds(clock));
  const held = releases.get(draft.channel, draft.releaseId);
  if (held === null) {
    releases.insert(fresh);
    return fresh;
  }
  if (held.content_digest === draft.content.digest) return held;
  if (held.published_at !== null || !['staging', 'failed'].includes(held.state)) {
    throw new TaskError(
      'release_conflict',
      `release ${draft.releaseId} already exists with other content; the bytes under a release id never change`,
    );
  }
  await writer.removeReleaseRecord(draft.channel, draft.releaseId);
  if (held.snapshot_id !== null) await writer.removeManifest(held.snapshot_id);
  releases.update(draft.channel, draft.releaseId, fresh);
  return fresh;
}

/** Writes the manifest of a revision; `verifiedAt` is the oldest full hash among its objects, Unix seconds. */
async function writeManifest(
  options: PublisherOptions,
  release: ReleaseRow,
  revisionId: number,
  taskId: string,
): Promise<{
  readonly written: Awaited<ReturnType<SnapshotWriter['writeManifest']>>;
  readonly verifiedAt: number;
}> {
  let verifiedAt = unixSeconds(options.clock);
  const entries = manifestEntries(options.catalogs, revisionId, (seconds) => {
    verifiedAt = Math.min(verifiedAt, seconds);
  });
  const written = await options.writer.writeManifest(taskId, headerOf(release), entries);
  // The wall clock may have been set back since.
  return { written, verifiedAt: Math.min(verifiedAt, unixSeconds(options.clock)) };
}

/**
 * Writes the manifest of a release that was copied as a difference, from the manifest of the release that it was copied from.
 *
 * @returns `null` where that does not give the signed manifest, or where the release was copied as a whole
 */
async function writeChanged(
  { writer, catalogs, objects, clock }: PublisherOptions,
  release: ReleaseRow,
  { origin, revisionId }: ReleaseDraft,
  taskId: string,
): Promise<Awaited<ReturnType<typeof writeManifest>> | null> {
  if (origin?.changed === undefined) return null;
  const { since, destinations, verifiedAt: verifiedBefore } = origin.changed;
  let verifiedAt = Math.min(verifiedBefore, unixSeconds(clock));
  function* changes(): Generator<ManifestChange> {
    for (const destination of destinations) {
      const row = catalogs.entry(revisionId, destination);
      const object = row?.blake3 === null || row === null ? null : objects.get(row.blake3);
      if (object !== null) verifiedAt = Math.min(verifiedAt, object.verifiedAt);
      yield {
        destination,
        entry: row === null || object === null ? null : manifestEntryOf({ ...row, ...object }),
      };
    }
  }
  try {
    const written = await writer.writeChangedManifest(taskId, headerOf(release), {
      since,
      changes: changes(),
    });
    return written.snapshotId === origin.snapshotId ? { written, verifiedAt } : null;
  } catch (error) {
    if (error instanceof SnapshotFault) return null;
    throw error;
  }
}

function registrarOf({ channel, origin }: ReleaseDraft): Registrar {
  return channel === 'official' || origin !== undefined ? 'sync' : 'publish';
}

/**
 * Checks that every object is present. Hashes all of them when the last hash is old or the release was damaged.
 *
 * @returns Unix seconds since when the release is known to be sound
 * @throws TaskError `release_damaged`
 */
async function requireSound(
  { check, objects, clock, configuration }: PublisherOptions,
  release: ReleaseRow,
  { registrar, verifiedAt }: { readonly registrar: Registrar; readonly verifiedAt: number },
  context: TaskContext,
): Promise<number> {
  await check.requirePresent(release, registrar, context.signal);
  // An object is hashed again at half the age at which its verification no longer supports an attestation.
  const isOld = verifiedAt <= unixSeconds(clock) - Math.floor(configuration().maxVerifyAgeSeconds / 2);
  const soundSince =
    isOld || release.state === 'damaged' ? await check.requireSound(release, registrar, context) : verifiedAt;
  if (release.revision_id !== null && objects.hasDamaged(release.revision_id)) {
    throw cannotRegister(release, registrar, 'one of its objects was found damaged');
  }
  return soundSince;
}

async function reverify(options: PublisherOptions, release: ReleaseRow, context: TaskContext): Promise<void> {
  const findings = await options.check.full(release, context);
  await recordFindings(options, release, { findings, bytes: true, finder: 'verify' }, context);
  if (isSound(findings)) return;
  throw new TaskError(
    'release_damaged',
    `release ${release.release_id} cannot become current: ${describe(findings)}; run repair, or choose another release`,
    { details: { damaged: findings.damaged.length } },
  );
}

async function requirePresent(
  options: PublisherOptions,
  release: ReleaseRow,
  context: TaskContext,
): Promise<void> {
  const findings = await options.check.quick(release, context.signal);
  if (isSound(findings)) return;
  await recordFindings(options, release, { findings, bytes: false, finder: 'publish' }, context);
  throw new TaskError(
    'release_damaged',
    `release ${release.release_id} is damaged: ${describe(findings)}; nothing was published. Run repair, then try again`,
    { details: { damaged: findings.damaged.length } },
  );
}

async function recordFindings(
  { check, attestor }: PublisherOptions,
  release: ReleaseRow,
  { findings, ...origin }: { readonly findings: ReleaseFindings } & CheckOrigin,
  context: TaskContext,
): Promise<void> {
  const hasChanged = await context.commit(() => check.record(release, findings, origin));
  if (hasChanged) await attestor.issue('check of a release that a task needs');
}

function recordVerified({ database, releases }: PublisherOptions, release: ReleaseRow): void {
  const { channel, release_id: id } = release;
  const isCurrent = releases.pointer(channel)?.release_id === id;
  database.transaction(() => {
    releases.clearDamage(channel, id);
    releases.update(channel, id, {
      state: isCurrent ? 'current' : 'verified',
      revision_id: release.revision_id,
      ...documentColumns(documentOfRow(release)),
      excluded_count: release.excluded_count,
      snapshot_id: release.snapshot_id,
      manifest_sha256: release.manifest_sha256,
      verified_at: release.verified_at,
      checked_at: release.verified_at,
      ...UNDAMAGED,
      deleted_at: null,
    });
  });
}

async function rewrite(options: PublisherOptions, release: ReleaseRow, taskId: string): Promise<void> {
  const { writer } = options;
  if (release.revision_id === null) {
    throw new TaskError(
      'manifest_differs',
      `the entries of release ${release.release_id} are not in the database`,
    );
  }
  const { written } = await writeManifest(options, release, release.revision_id, taskId);
  // The cleanup removes it, unless a release names it.
  if (written.snapshotId !== release.snapshot_id) {
    throw new TaskError(
      'manifest_differs',
      `the manifest of release ${release.release_id} cannot be rebuilt: the database gives ${written.snapshotId}, ` +
        `but the release is ${release.snapshot_id ?? 'not complete'}`,
    );
  }
  await writer.removeReleaseRecord(release.channel, release.release_id);
  await writer.writeReleaseRecord(recordOf(release));
}

/**
 * Makes a release current or, where releases are announced, states when it becomes current. There is nothing to announce
 * when the channel has no sound current release, or when the release is current already. A stale localized release counts as current,
 * so its successor is announced. Cancellation does not interrupt it.
 *
 * @throws TaskError `release_damaged`, `base_mismatch`, `not_attestable`
 */
async function announceOrSwitch(
  { releases, attestor, clock, configuration }: PublisherOptions,
  release: ReleaseRow,
  context: TaskContext,
): Promise<Published> {
  const { release_id, channel } = release;
  const current = releases.current(channel);
  const seconds = configuration().announceSeconds;
  if (seconds > 0 && current?.state === 'current' && current.release_id !== release_id) {
    const before = releases.announcedOf(channel);
    const now = unixSeconds(clock);
    const keepsTime = before?.release_id === release_id && before.current_at > now;
    const currentAt = keepsTime ? before.current_at : now + seconds;
    const version = await context.commit(() => attestor.announce(channel, release_id, currentAt));
    context.log('info', 'the release is announced', { channel, release_id, current_at: currentAt });
    return { version, currentAt };
  }
  return await context.commit(async () => {
    await attestor.cancelAnnouncement(channel);
    return { version: await attestor.switchTo(channel, release_id), currentAt: null };
  });
}
