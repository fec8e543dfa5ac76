import type { BodyOf } from '../../contract/actions/body-of.ts';
import {
  CONFIGURED_SCHEDULE_PREFIX,
  CONTROLLER_SCHEDULE_PREFIX,
} from '../../contract/schemas/schedule-ids.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { nextSlot, runsLeft } from './next-run.ts';
import { NEVER_RUN, type Schedule } from './schedule.ts';

/** The end of the year 9999. */
const LAST_SECOND = 253_402_300_799;
/** A hundred years. */
const LONGEST_SECONDS = 3_155_760_000;

/** The numbers of a body that a schedule takes. */
interface Timing {
  readonly next_run_unix_seconds?: number | undefined;
  readonly delay_seconds?: number | undefined;
  readonly every_seconds?: number | undefined;
  readonly max_runs?: number | undefined;
}

/**
 * The schedule that a body of schedule-add describes. A repeating schedule without a time first runs after one
 * interval.
 *
 * @param id used when the body has none
 * @param now Unix seconds
 * @throws ServiceError `invalid_request` for a time or interval that is too large, and for a reserved id
 */
export function newSchedule(body: BodyOf<'schedule-add'>, id: string, now: number): Schedule {
  if (body.id?.startsWith(CONFIGURED_SCHEDULE_PREFIX) === true) {
    throw invalid(
      'id',
      `must not begin with ${CONFIGURED_SCHEDULE_PREFIX}: it names schedules of the configuration`,
    );
  }
  const every = bounded(body, 'every_seconds', LONGEST_SECONDS);
  return {
    ...NEVER_RUN,
    id: body.id ?? id,
    group: body.group,
    origin: body.id?.startsWith(CONTROLLER_SCHEDULE_PREFIX) === true ? 'controller' : 'manual',
    action: body.action,
    args: body.args ?? [],
    enabled: body.enabled ?? true,
    next_run_unix_seconds: timeOf(body, now) ?? now + (every ?? 0),
    every_seconds: every,
    max_runs: bounded(body, 'max_runs', Number.MAX_SAFE_INTEGER),
  };
}

/**
 * A schedule with the changes of a body of schedule-update. A new interval counts from now unless a time is given. A
 * schedule that is enabled again continues with its next slot; the missed slots are not run.
 *
 * @param now Unix seconds
 * @throws ServiceError `invalid_request` when it would be enabled without ever running, and as {@link newSchedule}
 */
export function changedSchedule(schedule: Schedule, body: BodyOf<'schedule-update'>, now: number): Schedule {
  const newEvery = bounded(body, 'every_seconds', LONGEST_SECONDS);
  const every = body.clear_every === true ? null : (newEvery ?? schedule.every_seconds);
  const maxRuns = bounded(body, 'max_runs', Number.MAX_SAFE_INTEGER) ?? schedule.max_runs;
  const exhausted = runsLeft({ ...schedule, max_runs: maxRuns }) === 0;
  if (exhausted && body.enabled === true) {
    throw invalid('enabled', `max_runs (${String(maxRuns)}) is reached: send a larger max_runs with it`);
  }
  const enabled = !exhausted && (body.enabled ?? schedule.enabled);
  const given = timeOf(body, now) ?? (newEvery === null ? null : now + newEvery);
  const next = given ?? continued(schedule, every, enabled && !schedule.enabled, now);
  if (enabled && next === null) {
    throw invalid(
      'enabled',
      'it has already run: send next_run_unix_seconds, delay_seconds or every_seconds with it',
    );
  }
  return {
    ...schedule,
    group: body.group ?? schedule.group,
    action: body.action ?? schedule.action,
    args: body.clear_args === true ? [] : (body.args ?? schedule.args),
    enabled,
    next_run_unix_seconds: exhausted ? null : next,
    every_seconds: every,
    max_runs: maxRuns,
    exhausted,
  };
}

/** When a schedule runs next if the change does not set its time. */
function continued(
  { next_run_unix_seconds: next }: Schedule,
  every: number | null,
  resumes: boolean,
  now: number,
): number | null {
  if (every === null || !resumes) return next;
  return next === null ? now + every : nextSlot(next, every, now);
}

function timeOf(body: Timing, now: number): number | null {
  const delay = bounded(body, 'delay_seconds', LONGEST_SECONDS);
  return delay === null ? bounded(body, 'next_run_unix_seconds', LAST_SECOND) : now + delay;
}

function bounded(body: Timing, field: keyof Timing, most: number): number | null {
  const value = body[field] ?? null;
  if (value !== null && value > most) throw invalid(field, `must not exceed ${most}`);
  return value;
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid_request', `the schedule is not valid: ${field} ${message}`, {
    errors: [{ pointer: `/${field}`, message }],
  });
}
