import type { TaskParts } from '../release-parts.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import type { TaskContext, TaskResult } from '../../engine/tasks/task.ts';
import { messageOf } from '../../platform/errors.ts';
import type { RevisionRow } from '../catalog/catalog-store.ts';
import { describe, isSound } from '../checks/release-check.ts';
import { commitDownloaded, downloadUnresolved } from '../download/download-run.ts';
import { checkFreeSpace, planDownloads, type DownloadPlan } from './download-plan.ts';
import type { ConnectedUpstream } from '../../upstream/adapters/upstream-source.ts';
import { stageBytes } from '../download/object-restore.ts';
import type { ReleaseDraft } from '../records/release-record-of.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { SYNC_STAGING_PREFIX } from './staging.ts';
import { join } from 'node:path';

/**
 * The current release of a channel, after a check of its manifest, its record and the presence of its objects. Damage is recorded and
 * attested, and the sync then fetches the missing objects.
 */
export async function checkCurrent(
  parts: TaskParts,
  channel: Channel,
  context: TaskContext,
): Promise<ReleaseRow | null> {
  const { releases, check, attestor } = parts;
  const current = releases.current(channel);
  if (current?.state !== 'current') return current;
  const findings = await check.quick(current, context.signal);
  if (isSound(findings)) return current;
  const { release_id } = current;
  context.log('error', `the current release is damaged: ${describe(findings)}`, { channel, release_id });
  await context.commit(() => check.record(current, findings, { bytes: false, finder: 'sync' }));
  await attestor.issue('sync: damage');
  return releases.current(channel);
}

/** Creates what logs a failure of the check of the current release where the task fails for another reason. */
export function logFailedCheck(context: TaskContext): (error: unknown) => void {
  return (error) => {
    // Both end with the task that is cancelled.
    if (context.signal.aborted) return;
    context.log('error', `the check of the current release failed as well: ${messageOf(error)}`);
  };
}

/**
 * Forgets the releases of these channels that were never completed: each still holds a catalog. If its sync resumes, it starts from the
 * beginning.
 */
export async function forgetUnfinished(
  { releases, writer }: TaskParts,
  channels: readonly Channel[],
): Promise<void> {
  for (const { channel, release_id: id } of releases.unfinished()) {
    if (!channels.includes(channel)) continue;
    await writer.removeReleaseRecord(channel, id);
    releases.update(channel, id, { state: 'failed', revision_id: null });
  }
}

/** Removes the staged files and the unreferenced catalogs; after a success there is nothing to resume. */
export async function tidy(parts: TaskParts, taskId: string): Promise<void> {
  for (const name of await parts.writer.listStaging()) {
    if (name === taskId || name.startsWith(SYNC_STAGING_PREFIX)) await parts.writer.removeStaging(name);
  }
  for (const revisionId of parts.catalogs.unreferenced()) await parts.catalogs.drop(revisionId);
}

/**
 * Chooses the revision to work on. A revision that a release refers to is never changed, because a repair of that
 * release reads its rows: the task works on a copy. A forced sync starts once without known objects.
 */
export async function workingRevision(
  parts: TaskParts,
  fetched: RevisionRow,
  force: boolean,
  taskId: string,
): Promise<RevisionRow> {
  const own = fetched.task_id === taskId;
  if (!parts.catalogs.isReferenced(fetched.revision_id) && (own || !force)) return fetched;
  return await parts.catalogs.copy(fetched, taskId, force);
}

/** Puts the server-info document of a revision into the store; `null` when it has none. */
async function commitServerInfo(
  parts: TaskParts,
  revisionId: number,
  staging: string,
  context: TaskContext,
): Promise<ReleaseDraft['serverInfo']> {
  const bytes = parts.catalogs.serverInfo(revisionId);
  if (bytes === null) return null;
  const stagedPath = join(staging, 'server-info');
  const digests = await stageBytes(parts.pool, stagedPath, bytes, context.signal);
  const object = await commitDownloaded(parts, stagedPath, digests, context.taskId);
  parts.objects.record(object, unixSeconds(parts.clock));
  return { blake3: object.blake3, size: object.size };
}

/**
 * Fetches the objects that the store lacks, and the server-info document.
 *
 * @param of the name and the fields of the catalog, for the log, whether known bytes are fetched again, and what throws when
 *   upstream has another catalog now
 * @param download fetches the planned entries; default: from upstream
 * @throws UpstreamError, the storage error; TaskError `no_space`
 */
export async function fetchObjects(
  parts: TaskParts & { readonly upstream: ConnectedUpstream },
  revision: RevisionRow,
  of: {
    readonly what: string;
    readonly fields: TaskResult;
    readonly force: boolean;
    readonly confirm?: () => Promise<void>;
    /** A revision whose objects were found in the store; `null` for none. */
    readonly checked: number | null;
  },
  context: TaskContext,
  download: typeof downloadUnresolved = downloadUnresolved,
): Promise<{
  readonly plan: DownloadPlan;
  readonly downloaded: { readonly entries: number; readonly bytes: number };
  readonly serverInfo: ReleaseDraft['serverInfo'];
}> {
  const { revision_id: revisionId } = revision;
  const { directory: staging, files: staged } = await parts.staging.open(revision);
  const { force, checked } = of;
  const { entry_count: entryCount } = revision;
  const plan = await planDownloads(parts, { revisionId, force, checked, entryCount, staged }, context);
  context.log('info', `compared the ${of.what} with the store`, {
    ...of.fields,
    reused: plan.reused,
    to_fetch: plan.entries,
    bytes: plan.bytes,
    unknown_sizes: plan.unknownSizes,
  });
  await checkFreeSpace(parts, plan);
  const confirm = of.confirm === undefined ? {} : { confirm: of.confirm };
  const what = { revisionId, staging, totalBytes: plan.bytes, entryCount, ...confirm };
  const downloaded = await download(parts, parts.upstream.downloader, what, context);
  return { plan, downloaded, serverInfo: await commitServerInfo(parts, revisionId, staging, context) };
}
