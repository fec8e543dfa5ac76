import { both } from '../../platform/process/concurrently.ts';
import type { TaskParts } from '../release-parts.ts';
import { requireUpstream } from '../jobs/task-errors.ts';
import type { ArgumentsOf } from '../../engine/tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import { confirmCatalog, fetchCatalog } from '../catalog/catalog-fetch.ts';
import type { RevisionRow } from '../catalog/catalog-store.ts';
import { summarizeContent } from '../records/content-digest.ts';
import type { DownloadPlan } from './download-plan.ts';
import type { Published } from '../publish/publish.ts';
import type { ReleaseDraft } from '../records/release-record-of.ts';
import { manifestEntries } from '../catalog/catalog-entries.ts';
import { chooseReleaseName } from '../records/release-name.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import type { SYNC_JOB } from '../jobs/release-jobs.ts';
import { UpstreamError } from '../../upstream/upstream.ts';
import { checkCurrent, fetchObjects, logFailedCheck, tidy, workingRevision } from './sync-steps.ts';

/** How often a run starts over because upstream published another catalog meanwhile. The next attempt of the task starts counting from zero. */
const RESTARTS_MAX = 3;

/**
 * The task `sync`: makes the release that upstream publishes the current official one. Clients get the previous release
 * until every byte of the new one is in the store and checked, and its announced time has come. A sync that fails changes nothing for them.
 * When upstream publishes another catalog meanwhile, the run starts over with it and keeps what still fits.
 * Where upstream is another Slipway, the task runs `mirrorOrigin` instead.
 */
export async function syncRelease(
  parts: TaskParts,
  context: TaskContext<ArgumentsOf<typeof SYNC_JOB>>,
): Promise<TaskResult> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      const result = await syncCatalog(parts, context);
      return restarts === 0 ? result : { ...result, restarts };
    } catch (error) {
      if (!isCatalogChange(error) || restarts === RESTARTS_MAX) throw error;
      context.log(
        'warn',
        `the run starts over with the catalog that upstream has now (${restarts + 1} of at most ${RESTARTS_MAX}); the files that still fit are kept: ${error.message}`,
      );
    }
  }
}

function isCatalogChange(error: unknown): error is TaskError | UpstreamError {
  return (error instanceof TaskError || error instanceof UpstreamError) && error.code === 'catalog_changed';
}

async function syncCatalog(
  parts: TaskParts,
  context: TaskContext<ArgumentsOf<typeof SYNC_JOB>>,
): Promise<TaskResult> {
  const { upstream } = parts;
  const { force } = context.args;
  requireUpstream(upstream);
  const [fetched, checked] = await both(
    fetchCatalog(parts, upstream.adapter, context, force),
    checkCurrent(parts, 'official', context),
    logFailedCheck(context),
  );
  // A catalog can take minutes. Meanwhile a verification can find damage, and an announced release can become current.
  const current = parts.releases.current('official');
  const isStillChecked =
    current?.state === 'current' && checked?.state === 'current' && checked.release_id === current.release_id;
  if (!force && current !== null && isUnchanged(parts, current, fetched)) {
    const version =
      (await parts.publisher.cancelAnnouncement('official', context)) ??
      (await parts.attestor.issue('sync: unchanged'));
    return await unchanged(parts, { release_id: current.release_id, attestation_version: version }, context);
  }
  const announced = announcementOf(parts, fetched);
  if (!force && current?.state === 'current' && announced !== null) {
    const version = await parts.attestor.issue('sync: announced already');
    const { release_id: id } = current;
    return await unchanged(parts, { release_id: id, attestation_version: version, ...announced }, context);
  }
  // A damaged release is never unchanged: its bad objects are fetched again.
  const damaged = current === null ? 0 : parts.releases.damageCounts(current.channel, current.release_id).all;
  const revision = await workingRevision(parts, fetched, force, context.taskId);
  const confirm = async (): Promise<void> => await confirmCatalog(upstream.adapter, revision, context.signal);
  const { plan, downloaded, serverInfo } = await fetchObjects(
    { ...parts, upstream },
    revision,
    {
      what: 'catalog',
      fields: {},
      force,
      checked: !force && isStillChecked ? current.revision_id : null,
      confirm,
    },
    context,
  );
  await confirm();
  const draft = await draftOf(parts, revision, serverInfo);
  const release = await parts.publisher.register(draft, context);
  const outcome = await publish(parts, release, context);
  await tidy(parts, context.taskId);
  return resultOf({ release, previous: current, damaged, plan, downloaded, ...outcome });
}

async function publish(parts: TaskParts, release: ReleaseRow, context: TaskContext): Promise<Published> {
  const before = parts.releases.current(release.channel);
  const published = await parts.publisher.announceOrSwitch(release, context);
  if (published.currentAt !== null) return published;
  context.log(
    'info',
    isDocumentReplaced(release, before)
      ? 'the server-info document was replaced; the release stays current'
      : 'the release is current',
    { release_id: release.release_id, attestation_version: published.version },
  );
  return published;
}

async function unchanged(parts: TaskParts, result: TaskResult, context: TaskContext): Promise<TaskResult> {
  await tidy(parts, context.taskId);
  context.log('info', 'upstream has not changed', { release_id: result['release_id'] });
  return { unchanged: true, ...result };
}

function announcementOf(
  parts: TaskParts,
  fetched: RevisionRow,
): { readonly announced_release_id: string; readonly current_at: number } | null {
  const announced = parts.releases.announcedOf('official');
  if (announced === null || parts.configuration().announceSeconds === 0) return null;
  const release = parts.releases.get('official', announced.release_id);
  if (release === null || release.state === 'damaged' || !isOfCatalog(parts, release, fetched)) return null;
  return { announced_release_id: announced.release_id, current_at: announced.current_at };
}

function isUnchanged(parts: TaskParts, current: ReleaseRow, fetched: RevisionRow): boolean {
  return current.state === 'current' && isOfCatalog(parts, current, fetched);
}

function isOfCatalog(parts: TaskParts, release: ReleaseRow, fetched: RevisionRow): boolean {
  if (release.revision_id === null) return false;
  const held = parts.catalogs.get(release.revision_id);
  return (
    held !== null &&
    held.upstream_label === fetched.upstream_label &&
    held.upstream_release_id === fetched.upstream_release_id &&
    held.fingerprint === fetched.fingerprint
  );
}

async function draftOf(
  parts: TaskParts,
  revision: RevisionRow,
  serverInfo: ReleaseDraft['serverInfo'],
): Promise<ReleaseDraft> {
  const content = await summarizeContent(
    manifestEntries(parts.catalogs, revision.revision_id),
    revision.app_version,
  );
  const choice = chooseReleaseName(revision.upstream_release_id, content.digest, (name) => {
    const holder = parts.releases.named(name);
    return holder === null
      ? null
      : {
          channel: holder.channel,
          contentDigest: holder.content_digest,
          wasPublishable: holder.published_at !== null || !['staging', 'failed'].includes(holder.state),
        };
  });
  if (choice === null) {
    throw new TaskError(
      'release_conflict',
      `upstream keeps reusing the name ${revision.upstream_release_id} for different content; it must use new names`,
    );
  }
  return {
    channel: 'official',
    releaseId: choice.releaseId,
    upstreamReleaseId: revision.upstream_release_id,
    baseReleaseId: null,
    revisionId: revision.revision_id,
    content,
    serverInfo,
    appVersion: revision.app_version,
    excludedCount: revision.excluded_count,
  };
}

function resultOf(done: {
  readonly release: ReleaseRow;
  readonly previous: ReleaseRow | null;
  readonly damaged: number;
  readonly plan: DownloadPlan;
  readonly downloaded: { readonly entries: number; readonly bytes: number };
  readonly version: number;
  readonly currentAt: number | null;
}): TaskResult {
  const { release, previous, damaged, plan, downloaded } = done;
  const wasDamaged = previous?.state === 'damaged';
  return {
    unchanged: release.release_id === previous?.release_id && !wasDamaged,
    ...(wasDamaged
      ? {
          damaged,
          message: `release ${previous.release_id} was damaged; ${
            release.release_id === previous.release_id
              ? 'its damaged files were fetched again'
              : `it is replaced; run repair with args=release_id=${previous.release_id} to restore it as well`
          }`,
        }
      : {}),
    release_id: release.release_id,
    upstream_release_id: release.upstream_release_id,
    previous_release_id: previous?.release_id ?? null,
    snapshot_id: release.snapshot_id,
    entry_count: release.entry_count,
    total_bytes: release.total_bytes,
    downloaded_entries: downloaded.entries,
    downloaded_bytes: downloaded.bytes,
    reused_entries: plan.reused,
    ...(release.excluded_count === 0 ? {} : { excluded_entries: release.excluded_count }),
    attestation_version: done.version,
    ...(done.currentAt === null ? {} : { current_at: done.currentAt }),
    server_info_replaced: isDocumentReplaced(release, previous),
  };
}

/** Whether a sync left the release as it was and gave it another server-info document. */
function isDocumentReplaced(release: ReleaseRow, previous: ReleaseRow | null): boolean {
  return (
    release.release_id === previous?.release_id && release.server_info_blake3 !== previous.server_info_blake3
  );
}
