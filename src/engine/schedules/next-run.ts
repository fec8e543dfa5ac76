import type { Schedule } from './schedule.ts';

/**
 * The slot after `now` of a fixed rate: `next + k * every` with the smallest k >= 0 that is after now. All missed slots
 * together become the one run that is due, and the rate does not drift.
 *
 * @param next a slot of the rate, Unix seconds
 * @param every seconds, at least 1
 * @param now Unix seconds
 */
export function nextSlot(next: number, every: number, now: number): number {
  if (next > now) return next;
  return next + (Math.floor((now - next) / every) + 1) * every;
}

/** Whether a schedule is due at `now`, Unix seconds. */
export function isDue(schedule: Schedule, now: number): boolean {
  return schedule.enabled && schedule.next_run_unix_seconds !== null && schedule.next_run_unix_seconds <= now;
}

/**
 * Whether a repeating schedule is planned by a wall clock that was ahead: its next run is more than one interval away. A first run
 * that somebody chose may be as far away, so of a manual schedule only a last run in the future tells it.
 *
 * @param now Unix seconds
 */
export function isAheadOfClock(schedule: Schedule, now: number): boolean {
  const {
    enabled,
    origin,
    every_seconds: every,
    next_run_unix_seconds: next,
    last_run_unix_seconds: last,
  } = schedule;
  if (!enabled || every === null || next === null || next <= now + every) return false;
  return origin === 'configured' || (last !== null && last > now);
}

/** A schedule that {@link isAheadOfClock}, planned again: at the slot of its rate within one interval from now. */
export function plannedAgain(schedule: Schedule, now: number): Schedule {
  const { every_seconds: every, next_run_unix_seconds: next, last_run_unix_seconds: last } = schedule;
  if (every === null || next === null) return schedule;
  return {
    ...schedule,
    next_run_unix_seconds: next - (Math.ceil((next - now) / every) - 1) * every,
    // A last run in the future would count as another jump of the clock.
    last_run_unix_seconds: last === null ? null : Math.min(last, now),
  };
}

/** The outcome of one run. */
export interface RunRecord {
  /** `null` when no task could be queued. */
  readonly taskId: string | null;
  readonly status: string;
}

/** The schedule after the run of the slot that was due at `now`. */
export function afterRun(schedule: Schedule, run: RunRecord, now: number): Schedule {
  return advanced(counted(schedule, [run], now), now);
}

/** The schedule after a slot that was skipped because the previous run was still active. */
export function afterOverlap(schedule: Schedule, now: number): Schedule {
  return advanced({ ...schedule, skipped_overlap: schedule.skipped_overlap + 1 }, now);
}

/** The schedule after a slot in which another schedule replaced it. */
export function afterReplacedSlot(schedule: Schedule, now: number): Schedule {
  return advanced(schedule, now);
}

/** The schedule after requested runs: they are counted, but the next run keeps its time. */
export function afterRequestedRuns(schedule: Schedule, runs: readonly RunRecord[], now: number): Schedule {
  return counted(schedule, runs, now);
}

/** The number of runs left until `max_runs`, or `null` without a limit. */
export function runsLeft({ max_runs: most, run_count: runs }: Schedule): number | null {
  return most === null ? null : Math.max(0, most - runs);
}

function counted(schedule: Schedule, runs: readonly RunRecord[], now: number): Schedule {
  const last = runs.at(-1);
  if (last === undefined) return schedule;
  const after = {
    ...schedule,
    run_count: schedule.run_count + runs.length,
    last_run_unix_seconds: now,
    last_task_id: last.taskId,
    last_status: last.status,
  };
  return runsLeft(after) === 0
    ? { ...after, enabled: false, exhausted: true, next_run_unix_seconds: null }
    : after;
}

function advanced(schedule: Schedule, now: number): Schedule {
  const { next_run_unix_seconds: next, every_seconds: every } = schedule;
  if (next === null) return schedule;
  if (every === null) return { ...schedule, enabled: false, next_run_unix_seconds: null };
  return { ...schedule, next_run_unix_seconds: nextSlot(next, every, now) };
}
