import type { ReleaseParts, TaskParts } from '../release-parts.ts';
import { messageOf } from '../../platform/errors.ts';
import { type Loop, createLoop } from '../../platform/process/loop.ts';
import type { Announcement, ReleaseRepository } from '../records/release-repository.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import type { ArgumentsOf } from '../../engine/tasks/job.ts';
import { type TaskContext, TaskError, type TaskResult } from '../../engine/tasks/task.ts';
import type { EARLY_SWITCH_JOB } from '../jobs/release-jobs.ts';

/** Longest wait for a new attestation, milliseconds. Every announcement comes with one, and so does a shift of the wall clock. */
const WAIT_MS = 3_600_000;
const RETRY_MS = 5000;

/**
 * Creates the background work that makes announced releases current at their time. A release whose time came while the daemon was
 * down becomes current after the start.
 *
 * @param mayBecomeCurrent whether an announced release whose time has come may become current here
 */
export function createAnnouncedSwitch(
  { releases, attestor, clock, logger }: ReleaseParts,
  mayBecomeCurrent: (announced: Announcement) => boolean,
): Loop {
  let failure: string | null = null;
  return createLoop({
    clock,
    turn: async (signal) => {
      const known = attestor.current()?.version ?? null;
      let waitMs = WAIT_MS;
      for (const announced of releases.announced()) {
        const leftMs = announced.current_at * 1000 - clock.now();
        waitMs = leftMs > 0 ? Math.min(waitMs, leftMs) : waitMs;
        if (leftMs > 0 || !mayBecomeCurrent(announced)) continue;
        const version = await attestor.switchToAnnounced(announced);
        const { channel, release_id } = announced;
        if (version !== null)
          logger.info({ channel, release_id, version }, 'the announced release is current');
      }
      failure = null;
      await attestor.waitForChange(known, waitMs, signal);
      return 0;
    },
    onFailure: (error) => {
      const message = messageOf(error);
      if (message !== failure)
        logger.warn({ err: error }, `the announced release is not current yet: ${message}`);
      failure = message;
      return RETRY_MS;
    },
  });
}

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
