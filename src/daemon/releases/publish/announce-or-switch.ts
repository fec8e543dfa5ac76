import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { TaskContext } from '../../tasks/task.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';

export interface AnnounceOrSwitchDependencies {
  readonly releases: Pick<ReleaseRepository, 'current' | 'announcedOf'>;
  readonly attestor: Pick<Attestor, 'announce' | 'cancelAnnouncement' | 'switchTo'>;
  readonly clock: Clock;
  /** Seconds between the announcement of a release and its switch; 0: releases are not announced. */
  readonly announceSeconds: () => number;
}

/** The version of the new attestation, and when the release becomes current if it is announced, Unix seconds. */
export interface Published {
  readonly version: number;
  readonly currentAt: number | null;
}

/**
 * Makes a release current or, where releases are announced, states when it becomes current. There is nothing to announce
 * when the channel has no sound current release, or when the release is current already. A stale localized release counts as current,
 * so its successor is announced. Cancellation does not interrupt it.
 *
 * @throws TaskError `release_damaged`, `base_mismatch`, `not_attestable`
 */
export async function announceOrSwitch(
  { releases, attestor, clock, announceSeconds }: AnnounceOrSwitchDependencies,
  release: ReleaseRow,
  context: TaskContext,
): Promise<Published> {
  const { release_id, channel } = release;
  const current = releases.current(channel);
  const seconds = announceSeconds();
  if (seconds > 0 && current?.state === 'current' && current.release_id !== release_id) {
    const before = releases.announcedOf(channel);
    const now = unixSeconds(clock);
    const keepsTime = before?.release_id === release_id && before.current_at > now;
    const currentAt = keepsTime ? before.current_at : now + seconds;
    const version = await context.commit(() => attestor.announce(channel, release_id, currentAt));
    context.log('info', 'the release is announced', { channel, release_id, current_at: currentAt });
    return { version, currentAt };
  }
  return await context.commit(async () => {
    await attestor.cancelAnnouncement(channel);
    return { version: await attestor.switchTo(channel, release_id), currentAt: null };
  });
}
