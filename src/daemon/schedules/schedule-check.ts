import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { DoctorCheck } from '../reports/doctor-report.ts';
import type { ScheduleRepository } from './schedule-repository.ts';
import type { Schedule } from './schedule.ts';

/** A schedule that has been due for longer than this counts as late. */
const LATE_SECONDS = 60;
/** Intervals below this leave little time for the work itself. */
const SHORT_SECONDS = 10;
const NAMES_MAX = 5;

/** Finds schedules that are late, run too often, or could not be run. */
export function scheduleCheck(repository: Pick<ScheduleRepository, 'list'>, clock: Clock): DoctorCheck {
  return {
    id: 'schedules',
    run: () => {
      const enabled = repository.list({ id: null, group: null, enabled: true });
      const lateBefore = unixSeconds(clock) - LATE_SECONDS;
      const trouble = [
        named(
          enabled.filter(({ next_run_unix_seconds: next }) => next !== null && next < lateBefore),
          `late by more than ${LATE_SECONDS} s; see the log`,
        ),
        named(
          enabled.filter(({ every_seconds: every }) => every !== null && every < SHORT_SECONDS),
          `set to run more often than every ${SHORT_SECONDS} s`,
        ),
        named(
          enabled.filter(
            ({ last_task_id: task, last_status: status }) => task === null && status === 'failed',
          ),
          'impossible to run with this daemon; see the log',
        ),
      ].filter((text) => text !== null);
      return trouble.length > 0
        ? { status: 'degraded', message: trouble.join('; ') }
        : { status: 'ok', message: `${enabled.length} enabled` };
    },
  };
}

function named(schedules: readonly Schedule[], what: string): string | null {
  if (schedules.length === 0) return null;
  const names = schedules.slice(0, NAMES_MAX).map(({ id }) => id);
  const more = schedules.length > NAMES_MAX ? ` and ${schedules.length - NAMES_MAX} more` : '';
  return `${names.join(', ')}${more}: ${what}`;
}
