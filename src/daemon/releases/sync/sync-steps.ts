import { join } from 'node:path';
import type { Channel } from '../../../domain/release/channel.ts';
import type { HashPool } from '../../../platform/hashing/digests.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { TaskContext } from '../../tasks/task.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { CatalogStore, RevisionRow } from '../catalog/catalog-store.ts';
import { describe, isSound, type ReleaseCheck } from '../checks/release-check.ts';
import { commitDownloaded, type DownloadRunDependencies } from '../download/download-run.ts';
import { stageBytes } from '../download/object-restore.ts';
import type { ReleaseDraft } from '../records/release-draft.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { SYNC_STAGING_PREFIX } from './staging.ts';

/** The collaborators of the steps that every sync has, whatever its upstream is. */
export interface StepDependencies extends Pick<DownloadRunDependencies, 'objects' | 'failpoints'> {
  readonly catalogs: CatalogStore;
  readonly releases: ReleaseRepository;
  readonly check: Pick<ReleaseCheck, 'look' | 'record'>;
  readonly attestor: Attestor;
  readonly pool: HashPool;
  readonly writer: SnapshotWriter;
  readonly clock: Clock;
}

/**
 * The current release of a channel, after a look at its manifest, its record and the presence of its objects. Damage is recorded and
 * attested, and the sync then fetches the missing objects.
 */
export async function lookAtCurrent(
  deps: StepDependencies,
  channel: Channel,
  context: TaskContext,
): Promise<ReleaseRow | null> {
  const { releases, check, attestor } = deps;
  const current = releases.current(channel);
  if (current?.state !== 'current') return current;
  const findings = await check.look(current, context.signal);
  if (isSound(findings)) return current;
  const { release_id } = current;
  context.log('error', `the current release is damaged: ${describe(findings)}`, { channel, release_id });
  await context.commit(() => check.record(current, findings, { bytes: false, finder: 'sync' }));
  await attestor.issue('sync: damage');
  return releases.current(channel);
}

/** Removes the staged files and the unreferenced catalogs; after a success there is nothing to resume. */
export async function tidy(deps: StepDependencies, taskId: string): Promise<void> {
  for (const name of await deps.writer.listStaging()) {
    if (name === taskId || name.startsWith(SYNC_STAGING_PREFIX)) await deps.writer.removeStaging(name);
  }
  for (const revisionId of deps.catalogs.unreferenced()) await deps.catalogs.drop(revisionId);
}

/** The staging directory of a catalog: the same in every attempt, so that partial downloads can resume. */
export function stagingName(revision: RevisionRow): string {
  return `${SYNC_STAGING_PREFIX}${(revision.fingerprint ?? '').slice(0, 32)}`;
}

/**
 * Chooses the revision to work on. A revision that a release refers to is never changed, because a repair of that
 * release reads its rows: the task works on a copy. A forced sync starts once without known objects.
 */
export async function workingRevision(
  deps: StepDependencies,
  fetched: RevisionRow,
  force: boolean,
  taskId: string,
): Promise<RevisionRow> {
  const own = fetched.task_id === taskId;
  if (!deps.catalogs.isReferenced(fetched.revision_id) && (own || !force)) return fetched;
  return await deps.catalogs.copy(fetched, taskId, force);
}

/** Puts the server-info document of a revision into the store; `null` when it has none. */
export async function commitServerInfo(
  deps: StepDependencies,
  revisionId: number,
  staging: string,
  context: TaskContext,
): Promise<ReleaseDraft['serverInfo']> {
  const bytes = deps.catalogs.serverInfo(revisionId);
  if (bytes === null) return null;
  const stagedPath = join(staging, 'server-info');
  const digests = await stageBytes(deps.pool, stagedPath, bytes, context.signal);
  const object = await commitDownloaded(deps, stagedPath, digests, context.taskId);
  deps.objects.record(object, unixSeconds(deps.clock));
  return { blake3: object.blake3, size: object.size };
}
