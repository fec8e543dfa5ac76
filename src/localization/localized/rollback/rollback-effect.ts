import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { ReleaseRepository } from '../../../releases/records/release-repository.ts';
import { TaskError } from '../../../engine/tasks/task.ts';
import type { TaskEngine } from '../../../engine/tasks/task-engine.ts';
import type { ChannelTexts } from '../channel.ts';
import type { Rollback, RollbackDecision, RollbackRecords } from './rollback-records.ts';

/**
 * How far a rollback has come. `in_progress`: its task waits or runs. `without_effect`: its task has ended, and the release is current
 * as before. `overtaken`: its task has ended, and another release is current than both.
 */
export type RollbackProgress = 'in_progress' | 'in_effect' | 'without_effect' | 'overtaken';

export interface PublishingStop {
  readonly rollback: Rollback;
  readonly progress: RollbackProgress;
}

interface ChannelRecords {
  readonly releases: ReleaseRepository;
  readonly rollbacks: RollbackRecords;
}

interface PublishedIds {
  readonly current: string | null;
  readonly announced: string | null;
}

/**
 * Whether a rollback took effect. The release that it chose is current also when a full database could not record that; and the one
 * that it took back is not about to become current.
 */
function tookEffect(
  { switched_at: switchedAt, from_release_id: from, to_release_id: to }: Rollback,
  { current, announced }: PublishedIds,
): boolean {
  return switchedAt !== null || (to === current && from !== announced);
}

/**
 * The newest rollback after which automatic publishing is stopped; `null` when it is not. While its task waits or runs it is the
 * previous one, if there is one, which still stops it.
 */
export function stopOf(sources: ChannelRecords & { readonly tasks: TaskEngine }): PublishingStop | null {
  const ids = publishedIds(sources.releases);
  const [newest, previous] = sources.rollbacks.stops().map((rollback) => ({
    rollback,
    progress: progressOf(rollback, ids, sources.tasks),
  }));
  if (newest === undefined) return null;
  return newest.progress === 'in_progress' && previous !== undefined ? previous : newest;
}

function progressOf(rollback: Rollback, ids: PublishedIds, tasks: TaskEngine): RollbackProgress {
  if (tookEffect(rollback, ids)) return 'in_effect';
  if (isLive(tasks, rollback)) return 'in_progress';
  const { from_release_id: from } = rollback;
  return from === ids.current || from === ids.announced ? 'without_effect' : 'overtaken';
}

export function isLive(tasks: TaskEngine, { task_id: taskId }: Rollback): boolean {
  const { status = null } = tasks.get(taskId) ?? {};
  return status === 'queued' || status === 'running' || status === 'cancelling';
}

/** The rollback that took a release back, also one whose effect is not recorded; `null` when none did, or when it has become current again. */
export function takenBackBy(
  releases: ReleaseRepository,
  rollbacks: RollbackRecords,
  releaseId: string,
): RollbackDecision | null {
  const ids = publishedIds(releases);
  if (releaseId === ids.current) return null;
  const open = rollbacks.unrecorded();
  if (open?.from_release_id === releaseId && tookEffect(open, ids)) return open;
  return rollbacks.takenBackBy(releaseId);
}

/**
 * Records that the newest rollback took effect, when it did and could not record it; and that the current release no longer counts as
 * taken back, because an announced one becomes current automatically.
 *
 * @throws the error of the database
 */
export function recordEffect({
  rollbacks,
  releases,
  clock,
}: ChannelRecords & { readonly clock: Clock }): void {
  const ids = publishedIds(releases);
  const open = rollbacks.unrecorded();
  if (open !== null && tookEffect(open, ids)) rollbacks.switched(open, unixSeconds(clock));
  if (ids.current !== null) rollbacks.reinstate(ids.current, unixSeconds(clock));
}

function publishedIds(releases: ReleaseRepository): PublishedIds {
  return {
    current: releases.pointer('localized')?.release_id ?? null,
    announced: releases.announcedOf('localized')?.release_id ?? null,
  };
}

export async function holdUnits(texts: ChannelTexts, rollback: Rollback): Promise<number> {
  const { from_release_id: from, to_release_id: to, reviewer, reason } = rollback;
  return await texts.hold({ from, to, reviewer, reason });
}

/**
 * Finishes rollbacks that were interrupted, so that the next publish does not bring their texts back: records their effect, and puts
 * their units on hold.
 *
 * @param isOpen whether a rollback is to be finished now; default: every one
 * @throws the error of the work on translations
 */
export async function finishRollbacks(
  channel: ChannelRecords & { readonly clock: Clock; readonly texts: ChannelTexts },
  isOpen: (rollback: Rollback) => boolean = () => true,
): Promise<void> {
  recordEffect(channel);
  const { rollbacks, texts } = channel;
  for (const rollback of rollbacks.unfinished().filter(isOpen)) {
    rollbacks.finish(rollback.task_id, await holdUnits(texts, rollback));
  }
}

/** The rollback since which the channel is withdrawn: nothing is current, and nothing was resumed. Otherwise `null`. */
export function withdrawnBy({ releases, rollbacks }: ChannelRecords): Rollback | null {
  return releases.pointer('localized') === null ? rollbacks.stoppedBy() : null;
}

/**
 * Whether a rollback has withdrawn the channel and nothing was resumed since. Without an earlier release to compare with, such a
 * rollback holds no unit, so any other publish of stored texts would have those that were taken back.
 *
 * @returns no blocker, or one, as dry runs show it
 */
export function withdrawalBlockers(
  records: ChannelRecords,
  { resume }: { readonly resume?: boolean | undefined },
): readonly { readonly code: 'release_rolled_back'; readonly message: string; readonly count: number }[] {
  const rollback = resume === true ? null : withdrawnBy(records);
  if (rollback === null) return [];
  const message = `the channel is withdrawn since localized release ${rollback.from_release_id} was rolled back; fix the cause, then publish with args=resume=true`;
  return [{ code: 'release_rolled_back', message, count: 1 }];
}

/** Refuses a publish that does not resume while the channel is withdrawn. @throws TaskError `release_rolled_back` */
export function requireNotWithdrawn(
  records: ChannelRecords,
  args: { readonly resume?: boolean | undefined },
): void {
  const [blocker] = withdrawalBlockers(records, args);
  if (blocker !== undefined) throw new TaskError(blocker.code, blocker.message);
}
