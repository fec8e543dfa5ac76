import type { Clock } from '../../../platform/process/clock.ts';
import { createLoop } from '../../../platform/process/loop.ts';
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
  const regularMs = (): number => (ttlSeconds() * 1000) / 3;
  let dueAt = 0;

  const loop = createLoop({
    clock,
    turn: async () => {
      const left = dueAt - clock.monotonic();
      if (left > 0) return left;
      await renew();
      dueAt = clock.monotonic() + regularMs();
      return regularMs();
    },
    onFailure: (error) => {
      logger.error({ err: error }, 'the attestation could not be renewed; retrying soon');
      return regularMs() / 4;
    },
  });

  return {
    start: () => {
      dueAt = clock.monotonic() + regularMs();
      loop.start();
    },
    reschedule: () => {
      dueAt = clock.monotonic() + regularMs();
      loop.wake();
    },
    stop: async () => {
      await loop.stop();
    },
  };
}
