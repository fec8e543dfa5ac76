import type { Clock } from '../../platform/process/clock.ts';
import { CLOCK_SHIFT_TOLERANCE_MS, measureClockShift } from '../../platform/process/clock-shift.ts';
import { createLoop } from '../../platform/process/loop.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** Milliseconds between two checks of the wall clock: a shift makes the attestation invalid for at most this long. */
const CLOCK_CHECK_MS = 2000;

interface Renewal {
  readonly start: () => void;
  readonly reschedule: () => void;
  readonly stop: () => Promise<void>;
}

export function createRenewal({
  clock,
  logger,
  ttlSeconds,
  renew,
  isLate,
  storeLate,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ttlSeconds: () => number;
  readonly renew: () => Promise<unknown>;
  readonly isLate: () => boolean;
  readonly storeLate: () => Promise<void>;
}): Renewal {
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
        return Math.min(left, CLOCK_CHECK_MS);
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
      return Math.min(regularMs(), CLOCK_CHECK_MS);
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
    stop: () => loop.stop(),
  };
}
