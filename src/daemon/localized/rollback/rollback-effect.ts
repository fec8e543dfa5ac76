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
  readonly releases: Pick<ReleaseRepository, 'pointer'>;
  readonly rollbacks: Pick<RollbackRecords, 'stops'>;
  readonly tasks: Pick<TaskEngine, 'get'>;
}

/**
 * Whether a rollback took effect. The release that it chose is current also when a full database could not record that.
 *
 * @param currentId the current localized release, or `null`
 */
function tookEffect(
  { switched_at: switchedAt, to_release_id: to }: Pick<Rollback, 'switched_at' | 'to_release_id'>,
  currentId: string | null,
): boolean {
  return switchedAt !== null || to === currentId;
}

/**
 * The newest rollback after which automatic publishing is stopped; `null` when it is not. While its task waits or runs it is the
 * previous one, if there is one, which still stops it.
 */
export function stopOf(sources: EffectSources): PublishingStop | null {
  const currentId = currentIdOf(sources);
  const [newest, previous] = sources.rollbacks.stops().map((rollback) => ({
    rollback,
    progress: progressOf(rollback, currentId, sources),
  }));
  if (newest === undefined) return null;
  return newest.progress === 'in_progress' && previous !== undefined ? previous : newest;
}

function progressOf(
  rollback: Rollback,
  currentId: string | null,
  { tasks }: Pick<EffectSources, 'tasks'>,
): RollbackProgress {
  if (tookEffect(rollback, currentId)) return 'in_effect';
  if (isLive(tasks, rollback)) return 'in_progress';
  return rollback.from_release_id === currentId ? 'without_effect' : 'overtaken';
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
    readonly releases: Pick<ReleaseRepository, 'pointer'>;
    readonly rollbacks: Pick<RollbackRecords, 'takenBackBy' | 'unrecorded'>;
  },
  releaseId: string,
): Pick<Rollback, 'at' | 'reviewer' | 'reason'> | null {
  const open = rollbacks.unrecorded();
  if (open?.from_release_id === releaseId && tookEffect(open, currentIdOf({ releases }))) return open;
  return rollbacks.takenBackBy(releaseId);
}

/** The records of a rollback whose effect may be missing in them. */
export interface EffectRecords {
  readonly rollbacks: Pick<RollbackRecords, 'unrecorded' | 'switched'>;
  readonly releases: Pick<ReleaseRepository, 'pointer'>;
  readonly clock: Clock;
}

/** Records that the newest rollback took effect, when it did and could not record it. @throws the error of the database */
export function recordEffect({ rollbacks, releases, clock }: EffectRecords): void {
  const open = rollbacks.unrecorded();
  if (open !== null && tookEffect(open, currentIdOf({ releases }))) {
    rollbacks.switched(open, unixSeconds(clock));
  }
}

function currentIdOf({ releases }: Pick<EffectSources, 'releases'>): string | null {
  return releases.pointer('localized')?.release_id ?? null;
}
