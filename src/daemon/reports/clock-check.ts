import { instant } from '../../domain/instant.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import { isInFuture } from '../../domain/verdict/attestation.ts';
import { CLOCK_SHIFT_TOLERANCE_MS, measureClockShift } from '../../platform/process/clock-shift.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Releases } from '../../releases/releases.ts';
import type { DoctorCheck } from '../../engine/check.ts';

/** Something that the daemon recorded with a time of its wall clock. */
export interface RecordedTime {
  /** Completes "... at TIME". */
  readonly what: string;
  /** Unix seconds. */
  readonly at: number;
}

/** The check of the wall clock. */
export interface ClockCheck {
  /** The check `clock` of the doctor. */
  readonly check: DoctorCheck;
  /** Whether recorded times lie in the future: the wall clock is behind, or was ahead. */
  isBehindRecords(): boolean;
}

/**
 * Creates the check of the wall clock. Nothing here knows the true time, but a clock that is behind recorded times is or was wrong,
 * and so is one that was moved while the daemon ran. The times in attestations depend on it.
 *
 * @param recorded the times of events that repeat, so that the next event ends a finding
 */
export function createClockCheck(clock: Clock, recorded: () => readonly RecordedTime[]): ClockCheck {
  const shiftMs = measureClockShift(clock);
  const latest = (): RecordedTime | null => {
    const [first] = recorded().toSorted((left, right) => right.at - left.at);
    return first !== undefined && isInFuture(first.at, unixSeconds(clock)) ? first : null;
  };
  return {
    check: {
      id: 'clock',
      run: () => {
        const future = latest();
        if (future !== null) {
          const ahead = future.at - unixSeconds(clock);
          const time = instant(future.at);
          return {
            status: 'degraded',
            message: `the wall clock is behind recorded times by ${ahead} s: ${future.what} at ${time}; it is wrong now or was wrong then; check the time service, then run verify and sync`,
          };
        }
        const shift = shiftMs();
        if (Math.abs(shift) <= CLOCK_SHIFT_TOLERANCE_MS)
          return { status: 'ok', message: 'the wall clock is steady' };
        return {
          status: 'degraded',
          message: `the wall clock was moved by ${(shift / 1000).toFixed(0)} s since the start; check the time service. The daemon uses the present time; this finding ends with its next start`,
        };
      },
    },
    isBehindRecords: () => latest() !== null,
  };
}

/** The times of the last events of the releases. Each event repeats. */
export function recordedTimes({ repository, syncState, attestor }: Releases): readonly RecordedTime[] {
  const verified = CHANNELS.flatMap((channel): readonly RecordedTime[] => {
    const current = repository.current(channel);
    if (current === null || current.verified_at === null) return [];
    return [{ what: `release ${current.release_id} was verified`, at: current.verified_at }];
  });
  const sync = syncState().report.last;
  const issued = attestor.attested();
  return [
    ...verified,
    ...(sync === null ? [] : [{ what: 'the last sync ended', at: sync.finished_at }]),
    ...(issued === null ? [] : [{ what: 'the last attestation was issued', at: issued.issued_at }]),
  ];
}
