import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import { defineAction, type DefinedAction } from '../api/define-action.ts';
import { callOf, type JobCall } from '../tasks/job.ts';
import { TaskError } from '../tasks/task.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { UpstreamSource } from '../upstream/adapters/upstream-source.ts';
import { planRequestedCleanup } from './cleanup/cleanup-request.ts';
import type { CleanupLimits } from './cleanup/cleanup-request.ts';
import type { ReleaseRepository } from './records/release-repository.ts';
import { isKept } from './records/release-row.ts';
import { requireAnnounced } from './publish/early-switch-task.ts';
import {
  CATALOG_REFRESH_JOB,
  CLEANUP_JOB,
  EARLY_SWITCH_JOB,
  REFRESH_JOB,
  RELEASE_JOBS,
  REPAIR_JOB,
  SYNC_JOB,
  VERIFY_JOB,
} from './jobs/release-jobs.ts';

export interface ReleaseActionOptions {
  readonly engine: TaskEngine;
  readonly releases: ReleaseRepository;
  readonly upstream: Pick<UpstreamSource, 'current'>;
  readonly cleanupLimits: () => CleanupLimits;
  /** Unix seconds. */
  readonly now: () => number;
}

/** Kinds of tasks that lock the store exclusively. */
const EXCLUSIVE_KINDS: ReadonlySet<string> = new Set(
  RELEASE_JOBS.filter(({ storeLock }) => storeLock === 'exclusive').map(({ kind }) => kind),
);
/** Maximum number of tasks searched for one that holds the store. */
const RECENT_TASKS = 500;

/** The control actions of releases. Each checks its request as far as possible now and queues a job. */
export function createReleaseActions(options: ReleaseActionOptions): readonly DefinedAction[] {
  const { engine, releases } = options;
  return [
    defineAction(engine, 'sync', {
      queue: ({ force }) => {
        requireUpstream(options);
        return callOf(SYNC_JOB, { force });
      },
    }),
    defineAction(engine, 'catalog-refresh', {
      queue: ({ force }) => {
        requireUpstream(options);
        return callOf(CATALOG_REFRESH_JOB, { force });
      },
    }),
    defineAction(engine, 'verify', {
      queue: ({ force, args }) => {
        requireRelease(releases, args);
        return callOf(VERIFY_JOB, { force, ...args });
      },
    }),
    defineAction(engine, 'repair', {
      queue: ({ force, args }) => {
        requireRelease(releases, args);
        return callOf(REPAIR_JOB, { force, ...args });
      },
    }),
    defineAction(engine, 'refresh', {
      queue: ({ force, args: { current } = {} }) => {
        if (current !== undefined) return earlySwitch(options, current);
        requireStore(engine);
        return callOf(REFRESH_JOB, { force });
      },
      unused: ({ args }) => (args?.current === undefined ? [] : ['force']),
    }),
    defineAction(engine, 'release-cleanup', {
      queue: ({ count, id, localized_release_id, force, args }) => {
        const call = callOf(CLEANUP_JOB, { count, id, localized_release_id, force, ...args });
        planRequestedCleanup(releases, options.cleanupLimits(), call.args, options.now());
        return call;
      },
    }),
  ];
}

/** @throws TaskError `channel_mirrored`, `unknown_release`, `not_announced` */
function earlySwitch({ releases, upstream }: ReleaseActionOptions, releaseId: string): JobCall {
  const channel = requireAnnounced(releases, releaseId)?.channel;
  const origin = upstream.current()?.attested;
  if (channel !== undefined && origin?.channels.includes(channel) === true) {
    throw new TaskError(
      'channel_mirrored',
      `the ${channel} channel is copied from ${origin.source.label}, which states when its releases become current`,
    );
  }
  return callOf(EARLY_SWITCH_JOB, { release_id: releaseId });
}

function requireUpstream({ upstream }: ReleaseActionOptions): void {
  if (upstream.current() !== null) return;
  throw new TaskError(
    'upstream_not_configured',
    'no upstream is configured: set upstream.kind and its options',
  );
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

function requireStore(engine: Pick<TaskEngine, 'list'>): void {
  const holder = engine
    .list(RECENT_TASKS)
    .find((task) => EXCLUSIVE_KINDS.has(task.kind) && ['running', 'cancelling'].includes(task.status));
  if (holder === undefined) return;
  throw new TaskError(
    'store_locked',
    `the task ${holder.task_id} (${holder.kind}) holds the store exclusively; retry when it has ended`,
  );
}
