import { CLOCK_SHIFT_TOLERANCE_MS, measureClockShift } from '../../../platform/process/clock-shift.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import { tryToStore } from '../../database/store-when-possible.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { SqlDatabase } from '../records/sql.ts';

/** Keeps the dates of verifications in step with the wall clock. */
export interface VerificationDates {
  /**
   * Dates the verifications earlier that lie in the future since the wall clock was set back, by as much as it was. The clock that
   * never goes back measures that, so their age is still known. A verification that was dated in the future before stays as it is,
   * and counts for nothing.
   */
  followClock(): void;
}

export interface VerificationDatesOptions {
  readonly releases: Pick<ReleaseRepository, 'kept' | 'update'>;
  readonly database: SqlDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the dates. A shift of the clock counts from now on. */
export function createVerificationDates(options: VerificationDatesOptions): VerificationDates {
  const { database, clock, logger } = options;
  let shiftMs = measureClockShift(clock);
  return {
    followClock: () => {
      const shift = shiftMs();
      if (Math.abs(shift) <= CLOCK_SHIFT_TOLERANCE_MS) return;
      const shiftFromNow = measureClockShift(clock);
      // After a step forward, time may have passed while the machine slept, so no date may follow it.
      const isStored =
        shift > 0 ||
        tryToStore(
          () => {
            database.transaction(() => {
              dateEarlier(options, Math.ceil(-shift / 1000));
            });
          },
          'the dates of verifications',
          logger,
        );
      if (isStored) shiftMs = shiftFromNow;
    },
  };
}

/** @param bySeconds by how much the wall clock was set back */
function dateEarlier({ releases, clock, logger }: VerificationDatesOptions, bySeconds: number): void {
  const now = unixSeconds(clock);
  for (const { channel, release_id, verified_at: at } of releases.kept()) {
    if (at === null || at <= now || at > now + bySeconds) continue;
    releases.update(channel, release_id, { verified_at: at - bySeconds });
    logger.info(
      { channel, release_id, seconds: bySeconds },
      'the wall clock was set back; the last full verification is dated earlier by as much',
    );
  }
}
