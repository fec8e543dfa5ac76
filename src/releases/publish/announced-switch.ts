import type { ReleaseParts } from '../release-parts.ts';
import { messageOf } from '../../platform/errors.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import type { Announcement } from '../records/release-repository.ts';

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
