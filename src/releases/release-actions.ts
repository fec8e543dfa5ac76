import type { ReleaseParts } from './release-parts.ts';
import { requireUpstream } from './jobs/task-errors.ts';
import { unixSeconds } from '../platform/process/clock.ts';
import type { BodyOf } from '../contract/actions/body-of.ts';
import { CHANNELS, type Channel } from '../domain/release/channel.ts';
import { defineAction, type DefinedAction } from '../engine/define-action.ts';
import { callOf } from '../engine/tasks/job.ts';
import { TaskError } from '../engine/tasks/task.ts';
import type { TaskEngine } from '../engine/tasks/task-engine.ts';
import type { UpstreamSource } from '../upstream/adapters/upstream-source.ts';
import { planRequestedCleanup } from './cleanup/cleanup-request.ts';
import type { ReleaseRepository } from './records/release-repository.ts';
import { isKept } from './records/release-row.ts';
import { requireAnnounced } from './publish/announced-switch.ts';
import {
  CATALOG_REFRESH_JOB,
  CLEANUP_JOB,
  EARLY_SWITCH_JOB,
  REFRESH_JOB,
  RELEASE_JOBS,
  REPAIR_JOB,
  SYNC_JOB,
  VERIFY_JOB,
  type CleanupArguments,
} from './jobs/release-jobs.ts';

const EXCLUSIVE_KINDS: ReadonlySet<string> = new Set(
  RELEASE_JOBS.filter(({ storeLock }) => storeLock === 'exclusive').map(({ kind }) => kind),
);

/** The control actions of releases. Each checks its request as far as possible now and queues a job. */
export function releaseActions(
  { engine, releases, clock, configuration }: ReleaseParts,
  upstream: UpstreamSource,
): readonly DefinedAction[] {
  return [
    defineAction(engine, 'sync', {
      job: ({ force }) => callOf(SYNC_JOB, { force }),
      admit: () => requireUpstream(upstream.current()),
    }),
    defineAction(engine, 'catalog-refresh', {
      job: ({ force }) => callOf(CATALOG_REFRESH_JOB, { force }),
      admit: () => requireUpstream(upstream.current()),
    }),
    defineAction(engine, 'verify', {
      job: ({ force, args }) => callOf(VERIFY_JOB, { force, ...args }),
      admit: ({ args }) => requireRelease(releases, args),
    }),
    defineAction(engine, 'repair', {
      job: ({ force, args }) => callOf(REPAIR_JOB, { force, ...args }),
      admit: ({ args }) => requireRelease(releases, args),
    }),
    defineAction(engine, 'refresh', {
      job: ({ force, args: { current } = {} }) =>
        current === undefined
          ? callOf(REFRESH_JOB, { force })
          : callOf(EARLY_SWITCH_JOB, { release_id: current }),
      admit: ({ args: { current } = {} }) => {
        if (current === undefined) requireStore(engine);
        else requireEarlySwitch(releases, upstream, current);
      },
      unused: ({ args }) => (args?.current === undefined ? [] : ['force']),
    }),
    defineAction(engine, 'release-cleanup', {
      job: cleanupCall,
      admit: (body) => {
        planRequestedCleanup(releases, configuration().retention, cleanupCall(body).args, unixSeconds(clock));
      },
    }),
  ];
}

function cleanupCall({
  count,
  id,
  localized_release_id: localizedId,
  force,
  args,
}: BodyOf<'release-cleanup'>): { readonly kind: string; readonly args: CleanupArguments } {
  return callOf(CLEANUP_JOB, { count, id, localized_release_id: localizedId, force, ...args });
}

/** @throws TaskError `channel_mirrored`, `unknown_release`, `not_announced` */
function requireEarlySwitch(releases: ReleaseRepository, upstream: UpstreamSource, releaseId: string): void {
  const channel = requireAnnounced(releases, releaseId)?.channel;
  const origin = upstream.current()?.attested;
  if (channel !== undefined && origin?.channels.includes(channel) === true) {
    throw new TaskError(
      'channel_mirrored',
      `the ${channel} channel is copied from ${origin.source.label}, which states when its releases become current`,
    );
  }
}

function requireRelease(
  releases: ReleaseRepository,
  {
    channel,
    release_id: releaseId,
  }: { readonly channel?: Channel | undefined; readonly release_id?: string | undefined } = {},
): void {
  if (releaseId === undefined) return;
  const channels = channel === undefined ? CHANNELS : [channel];
  const known = channels.some((each) => {
    const release = releases.get(each, releaseId);
    return release !== null && isKept(release);
  });
  if (known) return;
  throw new TaskError(
    'unknown_release',
    `no release ${releaseId}${channel === undefined ? '' : ` of channel ${channel}`} is kept; see the list of releases`,
  );
}

function requireStore(engine: TaskEngine): void {
  const holder = engine.running().find(({ kind }) => EXCLUSIVE_KINDS.has(kind));
  if (holder === undefined) return;
  throw new TaskError(
    'store_locked',
    `the task ${holder.task_id} (${holder.kind}) holds the store exclusively; retry when it has ended`,
  );
}
