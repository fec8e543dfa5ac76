import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import {
  createVerificationDates,
  type VerificationDatesOptions,
} from '../../../../../src/daemon/releases/attest/verification-dates.ts';
import type { ReleaseRow } from '../../../../../src/daemon/releases/records/release-row.ts';
import { FakeClock } from '../../../../fakes/fake-clock.ts';

const HOUR = 3600;

interface Scene {
  readonly clock: FakeClock;
  /** Unix seconds. */
  readonly now: () => number;
  readonly dates: () => ReadonlyArray<number | null>;
  readonly followClock: () => void;
  readonly setFull: (isFull: boolean) => void;
  readonly logged: readonly string[];
}

/** @param ages of the verifications, seconds; negative for one in the future, `null` for none */
function sceneOf(ages: ReadonlyArray<number | null>): Scene {
  const clock = new FakeClock();
  const now = (): number => Math.floor(clock.now() / 1000);
  const dates = new Map(ages.map((age, index) => [String(index), age === null ? null : now() - age]));
  let isFull = false;
  const logged: string[] = [];
  const releases: VerificationDatesOptions['releases'] = {
    kept: () =>
      [...dates].map(
        ([release_id, verified_at]) => ({ channel: 'official', release_id, verified_at }) as ReleaseRow,
      ),
    update: (_channel, id, { verified_at: at }) => dates.set(id, at ?? null),
  };
  const database = {
    transaction: (step: () => void) => {
      if (isFull) throw Object.assign(new Error('full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
      step();
    },
  } as unknown as VerificationDatesOptions['database'];
  const logger = pino({ level: 'info' }, { write: (line: string) => logged.push(line) });
  const verifications = createVerificationDates({ releases, database, clock, logger });
  return {
    clock,
    now,
    dates: () => [...dates.values()],
    followClock: () => {
      verifications.followClock();
    },
    setFull: (value) => {
      isFull = value;
    },
    logged,
  };
}

describe('dates of verifications', () => {
  it('keep every age when the wall clock is set back, and leave one that lay in the future', () => {
    const { clock, now, dates, followClock } = sceneOf([60, 2 * HOUR, -60, null]);
    const undated = now() + 60;
    clock.jumpTo(clock.now() - HOUR * 1000);
    followClock();
    expect(dates()).toEqual([now() - 60, now() - 2 * HOUR, undated, null]);
    // The step is followed once.
    followClock();
    expect(dates()[0]).toBe(now() - 60);
  });

  it('change neither with a step forward nor with a small correction', () => {
    const { clock, dates, followClock } = sceneOf([60]);
    const before = dates();
    for (const step of [HOUR * 1000, -4000]) {
      clock.jumpTo(clock.now() + step);
      followClock();
    }
    expect(dates()).toEqual(before);
  });

  it('follow a step later when they cannot be stored, and the log names no step that was not stored', () => {
    const { clock, now, dates, followClock, setFull, logged } = sceneOf([60]);
    const before = dates();
    setFull(true);
    clock.jumpTo(clock.now() - HOUR * 1000);
    followClock();
    expect(dates()).toEqual(before);
    expect(logged.join('')).not.toContain('are dated earlier');
    setFull(false);
    followClock();
    expect(dates()).toEqual([now() - 60]);
    expect(logged.join('')).toContain('are dated earlier');
  });
});
