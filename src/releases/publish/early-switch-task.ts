import type { TaskParts } from '../release-parts.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import type { ArgumentsOf } from '../../engine/tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import type { EARLY_SWITCH_JOB } from '../jobs/release-jobs.ts';
import type { Announcement, ReleaseRepository } from '../records/release-repository.ts';

/**
 * The announcement of a release; `null` when it is current already.
 *
 * @throws TaskError `unknown_release`, `not_announced`
 */
export function requireAnnounced(releases: ReleaseRepository, releaseId: string): Announcement | null {
  const release = releases.named(releaseId);
  if (release === null) {
    throw new TaskError('unknown_release', `there is no release ${releaseId}; see the list of releases`);
  }
  const { channel } = release;
  if (releases.pointer(channel)?.release_id === releaseId) return null;
  const announced = releases.announcedOf(channel);
  if (announced?.release_id === releaseId) return announced;
  throw new TaskError(
    'not_announced',
    `release ${releaseId} is not announced, so there is no switch to bring forward`,
  );
}

/**
 * The task `early-switch`: states a nearer time for an announced release, once everyone who waits for it has its files. A time that is
 * near enough already stays.
 */
export async function switchEarly(
  { releases, attestor, clock, configuration }: TaskParts,
  context: TaskContext<ArgumentsOf<typeof EARLY_SWITCH_JOB>>,
): Promise<TaskResult> {
  const { release_id } = context.args;
  const announced = requireAnnounced(releases, release_id);
  if (announced === null) return { release_id, brought_forward: false, current_at: null };
  const currentAt = Math.min(announced.current_at, unixSeconds(clock) + configuration().switchLeadSeconds);
  if (currentAt === announced.current_at) {
    return { release_id, brought_forward: false, current_at: currentAt };
  }
  const version = await context.commit(() => attestor.restate(announced, currentAt));
  if (version === null) {
    throw new TaskError('not_announced', `release ${release_id} is not announced any longer`);
  }
  context.log('info', 'the switch was brought forward', { release_id, current_at: currentAt });
  return { release_id, brought_forward: true, current_at: currentAt, attestation_version: version };
}
