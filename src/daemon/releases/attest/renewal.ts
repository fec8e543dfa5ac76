import type { Clock } from '../../../platform/process/clock.ts';
import type { Logger } from '../../../platform/logging/logging.ts';

/** Renews the attestation after a third of its validity. */
export interface Renewal {
  start(): void;
  /** Restarts the wait, because the validity may have changed. */
  reschedule(): void;
  /** Resolves when a renewal in progress has ended. */
  stop(): Promise<void>;
}

export interface RenewalOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Validity of an attestation, in seconds. */
  readonly ttlSeconds: () => number;
  readonly renew: () => Promise<unknown>;
}

/** Creates the renewal. Nothing is renewed before `start`. */
export function createRenewal({ clock, logger, ttlSeconds, renew }: RenewalOptions): Renewal {
  const stopping = new AbortController();
  let rescheduled = new AbortController();
  let running: Promise<void> = Promise.resolve();

  const renewForever = async (): Promise<void> => {
    let failed = false;
    while (!stopping.signal.aborted) {
      const regular = (ttlSeconds() * 1000) / 3;
      rescheduled = new AbortController();
      const woken = AbortSignal.any([stopping.signal, rescheduled.signal]);
      await clock.sleep(failed ? regular / 4 : regular, woken).catch(() => undefined);
      if (stopping.signal.aborted) return;
      // The validity changed: start a new wait.
      if (rescheduled.signal.aborted) continue;
      try {
        await renew();
        failed = false;
      } catch (error) {
        logger.error({ err: error }, 'the attestation could not be renewed; retrying soon');
        failed = true;
      }
    }
  };

  return {
    start: () => {
      running = renewForever();
    },
    reschedule: () => {
      rescheduled.abort();
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
