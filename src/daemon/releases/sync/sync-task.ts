import type { Clock } from '../../../platform/process/clock.ts';
import type { HashPool } from '../../../platform/hashing/digests.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import { implementJob, type ArgumentsOf, type Job } from '../../tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../tasks/task.ts';
import type { Downloader } from '../../upstream/http/downloader.ts';
import type { UpstreamAdapter } from '../../upstream/upstream.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { ReleaseCheck } from '../checks/release-check.ts';
import { confirmCatalog, fetchCatalog, type CatalogFetchDependencies } from '../catalog/catalog-fetch.ts';
import type { RevisionRow } from '../catalog/catalog-store.ts';
import type { ServerInfoDocument } from '../../../domain/release/server-info-document.ts';
import { summarizeContent, type ContentSummary } from '../records/content-digest.ts';
import {
  checkFreeSpace,
  planDownloads,
  type DownloadPlan,
  type DownloadPlanDependencies,
} from './download-plan.ts';
import { downloadUnresolved, type DownloadRunDependencies } from '../download/download-run.ts';
import type { Published } from '../publish/announce-or-switch.ts';
import type { Publisher } from '../publish/publish.ts';
import type { ReleaseDraft } from '../records/release-draft.ts';
import { manifestEntries } from '../catalog/release-entries.ts';
import { chooseReleaseName } from '../records/release-name.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { documentInManifest, type ReleaseRow } from '../records/release-row.ts';
import { SYNC_JOB } from '../jobs/release-jobs.ts';
import { commitServerInfo, lookAtCurrent, stagingName, tidy, workingRevision } from './sync-steps.ts';

export interface SyncDependencies
  extends CatalogFetchDependencies, DownloadPlanDependencies, Omit<DownloadRunDependencies, 'downloader'> {
  /** `null` when no upstream is configured. */
  readonly adapter: UpstreamAdapter | null;
  readonly downloader: Downloader | null;
  readonly releases: ReleaseRepository;
  readonly publisher: Publisher;
  readonly check: Pick<ReleaseCheck, 'look' | 'record'>;
  readonly attestor: Attestor;
  readonly pool: HashPool;
  readonly writer: SnapshotWriter;
  readonly clock: Clock;
  /** Seconds between the announcement of a release and its switch; 0: releases are not announced. */
  readonly announceSeconds: number;
}

/**
 * The task `sync`: makes the release that upstream publishes the current official one. Clients get the previous release
 * until every byte of the new one is in the store and checked, and its announced time has come. A sync that fails changes nothing for them.
 */
export function createSyncTask(deps: SyncDependencies): Job {
  return implementJob(SYNC_JOB, async (context) => await sync(deps, context));
}

async function sync(
  deps: SyncDependencies,
  context: TaskContext<ArgumentsOf<typeof SYNC_JOB>>,
): Promise<TaskResult> {
  const { adapter, downloader } = deps;
  const { force } = context.args;
  if (adapter === null || downloader === null) {
    throw new TaskError(
      'upstream_not_configured',
      'no upstream is configured: set upstream.kind and its options',
    );
  }
  const fetched = await fetchCatalog(deps, adapter, context, { force });
  const current = await lookAtCurrent(deps, 'official', context);
  if (!force && current !== null && isUnchanged(deps, current, fetched)) {
    const version =
      (await deps.publisher.cancelAnnouncement('official', context)) ??
      (await deps.attestor.issue('sync: unchanged'));
    return await unchanged(deps, { release_id: current.release_id, attestation_version: version }, context);
  }
  const announced = announcementOf(deps, fetched);
  if (!force && current?.state === 'current' && announced !== null) {
    const version = await deps.attestor.issue('sync: announced already');
    const { release_id: id } = current;
    return await unchanged(deps, { release_id: id, attestation_version: version, ...announced }, context);
  }
  // A damaged release is never unchanged: its bad objects are fetched again.
  const damaged = current === null ? 0 : deps.releases.damageCounts(current.channel, current.release_id).all;
  const revision = await workingRevision(deps, fetched, force, context.taskId);
  const staging = await deps.writer.stagingDirectory(stagingName(revision));
  const plan = await planDownloads(deps, revision.revision_id, force, context);
  context.log('info', 'compared the catalog with the store', {
    reused: plan.reused,
    to_fetch: plan.entries,
    bytes: plan.bytes,
    unknown_sizes: plan.unknownSizes,
  });
  await checkFreeSpace(deps, plan);
  const downloaded = await downloadUnresolved(
    { ...deps, downloader },
    revision.revision_id,
    staging,
    plan.bytes,
    context,
  );
  const serverInfo = await commitServerInfo(deps, revision.revision_id, staging, context);
  await confirmCatalog(adapter, revision, context.signal);
  const draft = await draftOf(deps, revision, serverInfo);
  const release = await deps.publisher.register(draft, context);
  const outcome = await publish(deps, release, context);
  await tidy(deps, context.taskId);
  return resultOf({ release, previous: current, damaged, plan, downloaded, ...outcome });
}

/** Publishes a release that a sync has registered. */
async function publish(
  deps: SyncDependencies,
  release: ReleaseRow,
  context: TaskContext,
): Promise<Published> {
  const before = deps.releases.current(release.channel);
  const published = await deps.publisher.announceOrSwitch(release, context);
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

async function unchanged(
  deps: SyncDependencies,
  result: TaskResult,
  context: TaskContext,
): Promise<TaskResult> {
  await tidy(deps, context.taskId);
  context.log('info', 'upstream has not changed', { release_id: result['release_id'] });
  return { unchanged: true, ...result };
}

/** The announcement of the release that a catalog describes, as the result of a sync has it; `null` without one. */
function announcementOf(
  deps: SyncDependencies,
  fetched: RevisionRow,
): { readonly announced_release_id: string; readonly current_at: number } | null {
  const announced = deps.releases.announcedOf('official');
  if (announced === null || deps.announceSeconds === 0) return null;
  const release = deps.releases.get('official', announced.release_id);
  if (release === null || release.state === 'damaged' || !isOfCatalog(deps, release, fetched)) return null;
  return { announced_release_id: announced.release_id, current_at: announced.current_at };
}

function isUnchanged(deps: SyncDependencies, current: ReleaseRow, fetched: RevisionRow): boolean {
  return current.state === 'current' && isOfCatalog(deps, current, fetched);
}

/** Whether a release was made of this catalog. */
function isOfCatalog(deps: SyncDependencies, release: ReleaseRow, fetched: RevisionRow): boolean {
  if (release.revision_id === null) return false;
  const held = deps.catalogs.get(release.revision_id);
  return (
    held !== null &&
    held.upstream_label === fetched.upstream_label &&
    held.upstream_release_id === fetched.upstream_release_id &&
    held.fingerprint === fetched.fingerprint
  );
}

/**
 * The content of a revision. The manifest of a current release of an earlier version names a server-info document, which
 * is in its content digest: the same content then gets the same digest, so that the release stays current.
 */
async function contentOf(deps: SyncDependencies, revision: RevisionRow): Promise<ContentSummary> {
  const summarize = (document: ServerInfoDocument | null): Promise<ContentSummary> =>
    summarizeContent(manifestEntries(deps.catalogs, revision.revision_id), {
      ...(document === null ? {} : { server_info: document }),
      ...(revision.app_version === null ? {} : { app_version: revision.app_version }),
    });
  const content = await summarize(null);
  const current = deps.releases.current('official');
  const document = current === null ? null : documentInManifest(current);
  if (document === null || current?.content_digest === content.digest) return content;
  const before = await summarize(document);
  return before.digest === current?.content_digest ? before : content;
}

async function draftOf(
  deps: SyncDependencies,
  revision: RevisionRow,
  serverInfo: ReleaseDraft['serverInfo'],
): Promise<ReleaseDraft> {
  const content = await contentOf(deps, revision);
  const choice = chooseReleaseName(revision.upstream_release_id, content.digest, (name) => {
    const holder = deps.releases.named(name);
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
  };
}

function resultOf(done: {
  readonly release: ReleaseRow;
  readonly previous: ReleaseRow | null;
  /** Number of damaged entries of the previous release. */
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
