import type { TaskParts } from '../release-parts.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { forgetUnfinished } from '../sync/sync-steps.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import { snapshotIdOf, type Blake3Hex } from '../../domain/release/digest.ts';
import { authorizedReleases } from '../../domain/verdict/effective-attestation.ts';
import { storageFailureOf } from '../../engine/database/storage-failure.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import { planRequestedCleanup } from './cleanup-request.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { UNDAMAGED, type ReleaseRow } from '../records/release-row.ts';
import type { CleanupPlan } from '../records/retention-rules.ts';
import type { CleanupArguments } from '../jobs/release-jobs.ts';
import type { AttestationStatement } from '../../domain/verdict/attestation.ts';
import { statementOfEnvelope } from '../records/attestation-repository.ts';

/** Limits of the quarantine, in which damaged objects are kept for diagnosis. A forced cleanup keeps none. */
const QUARANTINE_KEPT = { objects: 100, bytes: 1024 ** 3, ageMs: 30 * 86_400_000 };
const QUARANTINE_GIVEN_UP = { objects: 0, bytes: 0, ageMs: 0 };

/**
 * The task `release-cleanup`: deletes the releases beyond the limits, then the unreferenced objects. References go
 * before their targets: first the attestation, then the record, the manifest, and last the objects.
 */
export async function cleanUp(parts: TaskParts, context: TaskContext<CleanupArguments>): Promise<TaskResult> {
  const { retention } = parts.configuration();
  const { releases, catalogs, writer } = parts;
  const now = unixSeconds(parts.clock);
  const { force, dry_run: dryRun } = context.args;
  // A task that resumes after a restart may find the named release already deleted.
  const resumed = isDone(releases, context.args);
  const plan: CleanupPlan = resumed
    ? { remove: [], keep: [] }
    : planRequestedCleanup(releases, retention, context.args, now);
  const kept = plan.keep.map(({ release, why }) => ({
    channel: release.channel,
    release_id: release.release_id,
    why,
  }));
  if (dryRun) {
    return { dry_run: true, deleted: plan.remove.map((release) => release.release_id), kept };
  }
  if (plan.remove.length > 0) {
    parts.database.transaction(() => {
      for (const release of plan.remove) forget(releases, release, now);
    });
  }
  const left = await deletedOnVolume(parts);
  // An earlier cleanup may have failed between the deletion in the database and the withdrawal.
  if (plan.remove.length > 0 || left.length > 0 || parts.attestor.volumeError() !== null) {
    await withdraw(parts, [...plan.remove, ...left]);
  }
  for (const release of plan.remove) {
    context.log('info', 'release deleted', { channel: release.channel, release_id: release.release_id });
  }
  await forgetUnfinished(parts, CHANNELS);
  await removeDeletedFiles(parts, left);
  for (const revisionId of catalogs.unreferenced()) await catalogs.drop(revisionId);
  context.progress(0, null, 'entries', 'sweep');
  const graceMs = force ? 0 : retention.graceSeconds * 1000;
  const manifests = await writer.sweepManifests(
    (blake3) => releases.hasSnapshot(snapshotIdOf(blake3)),
    graceMs,
    context.signal,
  );
  const offered = await offeredDocuments(parts);
  const swept = await writer.sweepObjects(
    (blake3) => offered.has(blake3) || releases.isReferenced(blake3),
    graceMs,
    context.signal,
  );
  parts.objects.forgetUnreferenced();
  const quarantined = await writer.sweepQuarantine(
    force ? QUARANTINE_GIVEN_UP : QUARANTINE_KEPT,
    context.signal,
  );
  // A cleanup makes room: unfinished downloads go as well.
  const staging = await parts.staging.sweep(0);
  return {
    dry_run: false,
    deleted: plan.remove.map((release) => release.release_id),
    kept,
    freed_bytes: swept.bytes + manifests.bytes + quarantined.bytes,
    removed_objects: swept.removed,
    removed_quarantined: quarantined.removed,
    removed_staging: staging,
  };
}

/** Nothing is removed from the volume while a valid attestation still offers it. */
async function withdraw(parts: TaskParts, removed: readonly ReleaseRow[]): Promise<void> {
  const { attestor } = parts;
  const version = await attestor.issue('release-cleanup');
  const error = attestor.volumeError();
  // A cleanup is what frees a full volume, so there it is enough that the daemon's callers know.
  if (error !== null && storageFailureOf(error)?.code !== 'no_space') throw error;
  if (version !== null) return;
  const statements = await offeredStatements(parts);
  const offered = new Set(
    statements.flatMap(({ retained }) => retained.map((release) => release.release_id)),
  );
  const still = removed.find((release) => offered.has(release.release_id));
  if (still === undefined) return;
  throw new TaskError(
    'not_attestable',
    `release ${still.release_id} is still attested and no newer attestation can be issued (${attestor.status().message}); ` +
      'run verify, then release-cleanup again',
  );
}

/** A server-info document that was replaced stays until no attestation names it any longer. */
async function offeredDocuments(parts: TaskParts): Promise<ReadonlySet<Blake3Hex>> {
  const releases = (await offeredStatements(parts)).flatMap(authorizedReleases);
  return new Set(releases.flatMap(({ server_info: document }) => (document ? [document.blake3] : [])));
}

function isDone(releases: ReleaseRepository, args: CleanupArguments): boolean {
  const name = args.localized_release_id ?? args.id;
  return name !== undefined && releases.named(name)?.state === 'deleted';
}

/** Keeps the row, because its name must never be reused for other bytes. */
function forget(releases: ReleaseRepository, release: ReleaseRow, now: number): void {
  releases.clearDamage(release.channel, release.release_id);
  releases.update(release.channel, release.release_id, {
    state: 'deleted',
    deleted_at: now,
    revision_id: null,
    ...UNDAMAGED,
  });
}

/** Also those that an interrupted cleanup left behind. */
async function deletedOnVolume({ releases, writer }: TaskParts): Promise<readonly ReleaseRow[]> {
  const deleted: ReleaseRow[] = [];
  for (const channel of CHANNELS) {
    for (const releaseId of await writer.listReleaseIds(channel)) {
      const release = releases.get(channel, releaseId);
      if (release?.state === 'deleted') deleted.push(release);
    }
  }
  return deleted;
}

async function removeDeletedFiles({ writer }: TaskParts, deleted: readonly ReleaseRow[]): Promise<void> {
  for (const release of deleted) {
    await writer.removeReleaseRecord(release.channel, release.release_id);
    if (release.snapshot_id !== null) await writer.removeManifest(release.snapshot_id);
  }
}

/**
 * The statements by which servers may serve now. A process that has issued none looks at those of the process before it,
 * until they expire: servers hold them longer than the daemon lives.
 *
 * @throws the file system error
 */
async function offeredStatements(parts: TaskParts): Promise<readonly AttestationStatement[]> {
  const own = parts.attestor.attested();
  if (own !== null) return [own];
  const now = unixSeconds(parts.clock);
  const envelopes = [
    parts.attestations.get(parts.writer.storeId)?.envelope ?? null,
    await parts.writer.readCurrentAttestation(),
  ];
  return envelopes
    .map((envelope) => (envelope === null ? null : statementOfEnvelope(envelope)))
    .filter((statement) => statement !== null)
    .filter(({ expires_at: expiresAt }) => expiresAt > now);
}
