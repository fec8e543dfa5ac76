import { CONTROLLER_SCHEDULE_PREFIX } from '../../contract/schemas/schedule-ids.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { DoctorCheck } from '../check.ts';
import type { ScheduleRepository } from './schedule-repository.ts';
import { isAheadOfClock } from './next-run.ts';
import type { Schedule } from './schedule.ts';

/** A schedule that has been due for longer than this counts as late. */
const LATE_SECONDS = 60;
/** Intervals below this leave little time for the work itself. */
const SHORT_SECONDS = 10;
const NAMES_MAX = 5;

/**
 * Finds schedules that are late, run too often, or could not be run, and configured ones that were disabled by hand. It
 * names those that a ReleaseChannel holds on purpose, which is not a finding.
 */
export function scheduleCheck(repository: ScheduleRepository, clock: Clock): DoctorCheck {
  return {
    id: 'schedules',
    run: () => {
      const now = unixSeconds(clock);
      const all = repository.list({ id: null, group: null, enabled: null });
      const enabled = all.filter((schedule) => schedule.enabled);
      const replaced = all.flatMap((schedule) => {
        const id = repository.replacementOf(schedule);
        const by = id === null ? null : repository.get(id);
        return by === null ? [] : [{ schedule, by }];
      });
      const running = enabled.filter(({ id }) => !replaced.some(({ schedule }) => schedule.id === id));
      const trouble = [
        ...runTrouble(enabled, now),
        named(
          all.filter(
            (schedule) =>
              schedule.origin === 'configured' &&
              !schedule.enabled &&
              !replaced.some(({ schedule: { id } }) => id === schedule.id),
          ),
          'disabled by hand; enable with `slipway ctl run schedule-update id=ID enabled=true`',
        ),
      ].filter((text) => text !== null);
      if (trouble.length > 0) return { status: 'degraded', message: trouble.join('; ') };
      const counts = replaced.length === 0 ? '' : `, ${replaced.length} replaced`;
      const held = replaced.filter(({ by }) => !by.enabled).map(heldText);
      return { status: 'ok', message: [`${running.length} enabled${counts}`, ...held].join('; ') };
    },
  };
}

/** The findings about enabled schedules; `null` for each that does not apply. */
function runTrouble(enabled: readonly Schedule[], now: number): ReadonlyArray<string | null> {
  return [
    named(
      enabled.filter(({ next_run_unix_seconds: next }) => next !== null && next < now - LATE_SECONDS),
      `late by more than ${LATE_SECONDS} s; see the log`,
    ),
    named(
      enabled.filter((schedule) => isAheadOfClock(schedule, now)),
      'planned by a wall clock that was ahead, and planned again within a minute',
    ),
    named(
      enabled.filter(({ every_seconds: every }) => every !== null && every < SHORT_SECONDS),
      `set to run more often than every ${SHORT_SECONDS} s`,
    ),
    named(
      enabled.filter(({ last_task_id: task, last_status: status }) => task === null && status === 'failed'),
      'impossible to run with this daemon; see the log',
    ),
  ];
}

/** Says that a ReleaseChannel holds a configured schedule, as its owner decided. */
function heldText({ schedule, by }: { schedule: Schedule; by: Schedule }): string {
  const [namespace = '', name = ''] = by.id.slice(CONTROLLER_SCHEDULE_PREFIX.length).split(':');
  return (
    `${schedule.id}: held by the ReleaseChannel ${namespace}/${name}, which is suspended or pinned; if it was ` +
    `deleted, remove its schedule with \`slipway ctl run schedule-remove id=${by.id}\``
  );
}

function named(schedules: readonly Schedule[], what: string): string | null {
  if (schedules.length === 0) return null;
  const names = schedules.slice(0, NAMES_MAX).map(({ id }) => id);
  const more = schedules.length > NAMES_MAX ? ` and ${schedules.length - NAMES_MAX} more` : '';
  return `${names.join(', ')}${more}: ${what}`;
}
