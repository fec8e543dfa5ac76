import type { Blake3Hex } from '../../../domain/release/digest.ts';
import type { SourceRelease } from '../../../mirror/attested-source.ts';
import type { TaskContext } from '../../tasks/task.ts';
import type { Downloader } from '../../upstream/http/downloader.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import { manifestEntries } from '../catalog/release-entries.ts';
import {
  downloadUnresolved,
  type DownloadOutcome,
  type DownloadRunDependencies,
} from '../download/download-run.ts';
import type { Publisher } from '../publish/publish.ts';
import { summarizeContent } from '../records/content-digest.ts';
import type { HeldOrigin } from '../records/origin-repository.ts';
import type { ReleaseDraft } from '../records/release-draft.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { checkFreeSpace, planDownloads, type DownloadPlanDependencies } from '../sync/download-plan.ts';
import { commitServerInfo, stagingName, workingRevision, type StepDependencies } from '../sync/sync-steps.ts';
import { mirroredRevision, type MirroredRevision } from './mirrored-revision.ts';

export interface CopyDependencies
  extends StepDependencies, DownloadPlanDependencies, Omit<DownloadRunDependencies, 'downloader'> {
  readonly attested: AttestedUpstream;
  readonly downloader: Downloader;
  readonly publisher: Publisher;
  readonly writer: StepDependencies['writer'];
}

/** A release of the origin that is registered here, and what it took. */
export interface CopiedRelease {
  readonly release: ReleaseRow;
  readonly downloadedEntries: number;
  readonly downloadedBytes: number;
  readonly reusedEntries: number;
}

/**
 * Copies a release of the origin byte for byte: its id, its manifest and the objects that the store lacks. Clients notice
 * nothing of it.
 *
 * @throws MirrorError, UpstreamError, the storage error; TaskError `no_space`, `release_conflict`, `release_damaged`,
 *   `origin_manifest_differs`
 */
export async function copyRelease(
  deps: CopyDependencies,
  origin: HeldOrigin,
  wanted: SourceRelease,
  context: TaskContext,
): Promise<CopiedRelease> {
  const mirrored = await mirroredRevision(deps, deps.attested, origin, wanted, context);
  const revision = await workingRevision(deps, mirrored.revision, false, context.taskId);
  const staging = await deps.writer.stagingDirectory(stagingName(revision));
  const plan = await planDownloads(deps, revision.revision_id, false, context);
  context.log('info', 'compared the manifest with the store', {
    channel: wanted.channel,
    release_id: wanted.attested.release_id,
    reused: plan.reused,
    to_fetch: plan.entries,
    bytes: plan.bytes,
  });
  await checkFreeSpace(deps, plan);
  const downloaded = await download(deps, revision.revision_id, staging, plan.bytes, context);
  const serverInfo = await commitServerInfo(deps, revision.revision_id, staging, context);
  const draft = await draftOf(deps, wanted, { ...mirrored, revision }, serverInfo);
  return {
    release: await deps.publisher.register(draft, context),
    downloadedEntries: downloaded.entries,
    downloadedBytes: downloaded.bytes,
    reusedEntries: plan.reused,
  };
}

/** Names the objects that the store lacks to the source, and fetches them. */
async function download(
  deps: CopyDependencies,
  revisionId: number,
  staging: string,
  bytes: number,
  context: TaskContext,
): Promise<DownloadOutcome> {
  const { source } = deps.attested;
  await source.prepare?.(missingObjects(deps, revisionId));
  try {
    return await downloadUnresolved(deps, revisionId, staging, bytes, context);
  } finally {
    await source.prepare?.([]);
  }
}

async function* missingObjects(
  { catalogs }: CopyDependencies,
  revisionId: number,
): AsyncGenerator<Blake3Hex> {
  for await (const { stated_blake3: blake3 } of catalogs.rows(revisionId, 'unresolved')) {
    // Parsed when the manifest was read.
    if (blake3 !== null) yield blake3 as Blake3Hex;
  }
}

async function draftOf(
  deps: CopyDependencies,
  { channel, attested }: SourceRelease,
  { revision, manifestDocument }: MirroredRevision,
  serverInfo: ReleaseDraft['serverInfo'],
): Promise<ReleaseDraft> {
  const content = await summarizeContent(manifestEntries(deps.catalogs, revision.revision_id), {
    ...(manifestDocument === null ? {} : { server_info: manifestDocument }),
    ...(revision.app_version === null ? {} : { app_version: revision.app_version }),
  });
  return {
    channel,
    releaseId: attested.release_id,
    upstreamReleaseId: attested.release_id,
    baseReleaseId: attested.base_release_id ?? null,
    revisionId: revision.revision_id,
    content,
    serverInfo,
    appVersion: revision.app_version,
    origin: { snapshotId: attested.snapshot_id, createdAt: attested.created_at, manifestDocument },
  };
}
