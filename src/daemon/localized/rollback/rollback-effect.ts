import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { ReleaseRepository } from '../../releases/records/release-repository.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import type { Rollback, RollbackRecords } from './rollback-records.ts';

/**
 * How far a rollback has come. `in_progress`: its task waits or runs. `without_effect`: its task has ended, and the release is current
 * as before. `overtaken`: its task has ended, and another release is current than both.
 */
export type RollbackProgress = 'in_progress' | 'in_effect' | 'without_effect' | 'overtaken';

/** A rollback after which automatic publishing is stopped. */
export interface PublishingStop {
  readonly rollback: Rollback;
  readonly progress: RollbackProgress;
}

/** The records that tell how far rollbacks have come. */
export interface EffectSources {
  readonly releases: Pick<ReleaseRepository, 'pointer' | 'announcedOf'>;
  readonly rollbacks: Pick<RollbackRecords, 'stops'>;
  readonly tasks: Pick<TaskEngine, 'get'>;
}

/** Ids of localized releases, or `null`. */
interface PublishedIds {
  readonly current: string | null;
  readonly announced: string | null;
}

/**
 * Whether a rollback took effect. The release that it chose is current also when a full database could not record that; and the one
 * that it took back is not about to become current.
 */
function tookEffect(
  {
    switched_at: switchedAt,
    from_release_id: from,
    to_release_id: to,
  }: Pick<Rollback, 'switched_at' | 'from_release_id' | 'to_release_id'>,
  { current, announced }: PublishedIds,
): boolean {
  return switchedAt !== null || (to === current && from !== announced);
}

/**
 * The newest rollback after which automatic publishing is stopped; `null` when it is not. While its task waits or runs it is the
 * previous one, if there is one, which still stops it.
 */
export function stopOf(sources: EffectSources): PublishingStop | null {
  const ids = publishedIds(sources);
  const [newest, previous] = sources.rollbacks.stops().map((rollback) => ({
    rollback,
    progress: progressOf(rollback, ids, sources),
  }));
  if (newest === undefined) return null;
  return newest.progress === 'in_progress' && previous !== undefined ? previous : newest;
}

function progressOf(
  rollback: Rollback,
  ids: PublishedIds,
  { tasks }: Pick<EffectSources, 'tasks'>,
): RollbackProgress {
  if (tookEffect(rollback, ids)) return 'in_effect';
  if (isLive(tasks, rollback)) return 'in_progress';
  const { from_release_id: from } = rollback;
  return from === ids.current || from === ids.announced ? 'without_effect' : 'overtaken';
}

/** Whether the task of a rollback waits or runs. */
export function isLive(tasks: Pick<TaskEngine, 'get'>, { task_id: taskId }: Rollback): boolean {
  const { status = null } = tasks.get(taskId) ?? {};
  return status === 'queued' || status === 'running' || status === 'cancelling';
}

/** The rollback that took a release back, also one whose effect is not recorded; `null` when none did, or when it has become current again. */
export function takenBackBy(
  {
    releases,
    rollbacks,
  }: {
    readonly releases: EffectSources['releases'];
    readonly rollbacks: Pick<RollbackRecords, 'takenBackBy' | 'unrecorded'>;
  },
  releaseId: string,
): Pick<Rollback, 'at' | 'reviewer' | 'reason'> | null {
  const ids = publishedIds({ releases });
  if (releaseId === ids.current) return null;
  const open = rollbacks.unrecorded();
  if (open?.from_release_id === releaseId && tookEffect(open, ids)) return open;
  return rollbacks.takenBackBy(releaseId);
}

/** The records of a rollback whose effect may be missing in them. */
export interface EffectRecords {
  readonly rollbacks: Pick<RollbackRecords, 'unrecorded' | 'switched' | 'reinstate'>;
  readonly releases: EffectSources['releases'];
  readonly clock: Clock;
}

/**
 * Records that the newest rollback took effect, when it did and could not record it; and that the current release counts as taken back
 * no longer, because an announced one becomes current by itself.
 *
 * @throws the error of the database
 */
export function recordEffect({ rollbacks, releases, clock }: EffectRecords): void {
  const ids = publishedIds({ releases });
  const open = rollbacks.unrecorded();
  if (open !== null && tookEffect(open, ids)) rollbacks.switched(open, unixSeconds(clock));
  if (ids.current !== null) rollbacks.reinstate(ids.current, unixSeconds(clock));
}

function publishedIds({ releases }: Pick<EffectSources, 'releases'>): PublishedIds {
  return {
    current: releases.pointer('localized')?.release_id ?? null,
    announced: releases.announcedOf('localized')?.release_id ?? null,
  };
}
