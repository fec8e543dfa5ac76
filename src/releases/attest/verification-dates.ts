import { CLOCK_SHIFT_TOLERANCE_MS, measureClockShift } from '../../platform/process/clock-shift.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { tryToStore } from '../../engine/database/store-when-possible.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { SqlDatabase } from '../records/sql.ts';

interface VerificationDates {
  /**
   * Dates the verifications earlier by as much as the wall clock was set back since the last call. The clock that never goes back
   * measures that. A verification that was dated in the future before the step stays as it is, and counts for nothing. A step
   * forward changes no date, because time may have passed while the machine slept.
   *
   * The hashes of single objects keep their dates, so a release that is registered after the step is dated at its registration
   * when they lie in the future. When the dates of releases cannot be stored, the next call tries again.
   */
  followClock(): void;
}

interface VerificationDatesOptions {
  readonly releases: ReleaseRepository;
  readonly database: SqlDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createVerificationDates(options: VerificationDatesOptions): VerificationDates {
  const { database, clock, logger } = options;
  let shiftMs = measureClockShift(clock);
  const dateEarlier = (seconds: number): boolean => {
    const store = (): void => {
      database.transaction(() => {
        storeEarlierDates(options, seconds);
      });
    };
    if (!tryToStore(store, 'the dates of verifications', logger)) return false;
    logger.info({ seconds }, 'the wall clock was set back; the last full verifications are dated earlier');
    return true;
  };
  return {
    followClock: () => {
      const shift = shiftMs();
      if (Math.abs(shift) <= CLOCK_SHIFT_TOLERANCE_MS) return;
      const shiftFromNow = measureClockShift(clock);
      if (shift > 0 || dateEarlier(Math.ceil(-shift / 1000))) shiftMs = shiftFromNow;
    },
  };
}

function storeEarlierDates({ releases, clock }: VerificationDatesOptions, seconds: number): void {
  const beforeStep = unixSeconds(clock) + seconds;
  for (const { channel, release_id, verified_at: at } of releases.kept()) {
    if (at === null || at > beforeStep) continue;
    releases.update(channel, release_id, { verified_at: at - seconds });
  }
}
