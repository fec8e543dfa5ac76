import { messageOf } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { createLoop } from '../../../platform/process/loop.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { Announcement, ReleaseRepository } from '../records/release-repository.ts';

/** Longest wait for a new attestation, milliseconds. Every announcement comes with one, and so does a shift of the wall clock. */
const WAIT_MS = 3_600_000;
/** Milliseconds from a switch that failed to the next attempt. */
const RETRY_MS = 5000;

export interface AnnouncedSwitchOptions {
  readonly releases: Pick<ReleaseRepository, 'announced'>;
  readonly attestor: Pick<Attestor, 'switchToAnnounced' | 'current' | 'waitForChange'>;
  /** Whether an announced release whose time has come may become current here. */
  readonly mayBecomeCurrent: (announced: Announcement) => boolean;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** Makes announced releases current at their time. */
export interface AnnouncedSwitch {
  start(): void;
  stop(): Promise<void>;
}

/** Creates the switch. A release whose time came while the daemon was away becomes current after the start. */
export function createAnnouncedSwitch(options: AnnouncedSwitchOptions): AnnouncedSwitch {
  const { releases, attestor, clock, logger } = options;
  let failure: string | null = null;
  return createLoop({
    clock,
    turn: async (signal) => {
      const known = attestor.current()?.version ?? null;
      let waitMs = WAIT_MS;
      for (const announced of releases.announced()) {
        const leftMs = announced.current_at * 1000 - clock.now();
        waitMs = leftMs > 0 ? Math.min(waitMs, leftMs) : waitMs;
        if (leftMs > 0 || !options.mayBecomeCurrent(announced)) continue;
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
