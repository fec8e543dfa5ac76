import { CHANNELS } from '../../domain/release/channel.ts';
import { isInFuture } from '../../domain/verdict/attestation.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { callOf } from '../../engine/tasks/job.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import { VERIFY_JOB } from '../jobs/release-jobs.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';

/**
 * Queues the verification of each current or announced release whose last one is too old or dated in the future. A repair
 * verifies a damaged release.
 *
 * @param tooOld ages of a last full verification that are too old, seconds
 * @throws the error of the database
 */
export function queueVerification(
  {
    releases,
    engine,
    clock,
  }: { readonly releases: ReleaseRepository; readonly engine: TaskEngine; readonly clock: Clock },
  tooOld: { readonly current: number; readonly announced: number },
): void {
  const now = unixSeconds(clock);
  const queue = (release: ReleaseRow | null, tooOldSeconds: number): void => {
    if (release === null || release.state === 'damaged') return;
    const { channel, release_id, verified_at } = release;
    const at = verified_at ?? 0;
    if (at > now - tooOldSeconds && !isInFuture(at, now)) return;
    engine.submit({ ...callOf(VERIFY_JOB, { channel, release_id }), dedupe: true });
  };
  for (const channel of CHANNELS) {
    const announced = releases.announcedOf(channel);
    queue(releases.current(channel), tooOld.current);
    if (announced !== null) queue(releases.get(channel, announced.release_id), tooOld.announced);
  }
}
