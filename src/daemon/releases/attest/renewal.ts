import type { Clock } from '../../../platform/process/clock.ts';
import { CLOCK_SHIFT_TOLERANCE_MS, measureClockShift } from '../../../platform/process/clock-shift.ts';
import { createLoop } from '../../../platform/process/loop.ts';
import type { Logger } from '../../../platform/logging/logging.ts';

/** Milliseconds between two looks at the wall clock: a shift makes the attestation invalid for at most this long. */
const CLOCK_LOOK_MS = 2000;

/** Renews the attestation after a third of its validity, and when the wall clock is moved: its times are wrong then. */
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
  /** Whether something could not be stored before. */
  readonly isLate: () => boolean;
  /** Stores it; called between renewals. */
  readonly storeLate: () => Promise<void>;
}

/** Creates the renewal. Nothing is renewed before `start`. */
export function createRenewal(options: RenewalOptions): Renewal {
  const { clock, logger, ttlSeconds, renew, isLate, storeLate } = options;
  const regularMs = (): number => (ttlSeconds() * 1000) / 3;
  let dueAt = 0;
  let shiftMs = measureClockShift(clock);

  const loop = createLoop({
    clock,
    turn: async () => {
      const shift = shiftMs();
      const isShifted = Math.abs(shift) > CLOCK_SHIFT_TOLERANCE_MS;
      const left = dueAt - clock.monotonic();
      if (left > 0 && !isShifted) {
        if (isLate()) await storeLate();
        return Math.min(left, CLOCK_LOOK_MS);
      }
      if (isShifted)
        logger.warn(
          { shift_seconds: Math.round(shift / 1000) },
          'the wall clock was moved; renewing the attestation',
        );
      const shiftSinceRenewal = measureClockShift(clock);
      await renew();
      shiftMs = shiftSinceRenewal;
      dueAt = clock.monotonic() + regularMs();
      return Math.min(regularMs(), CLOCK_LOOK_MS);
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
