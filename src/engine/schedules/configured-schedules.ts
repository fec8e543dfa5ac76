import type { ScheduleGroup } from '../../contract/schemas/vocabulary.ts';
import { isDeepStrictEqual } from 'node:util';
import { CONFIGURED_SCHEDULE_PREFIX } from '../../contract/schemas/schedule-ids.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { ScheduleRepository } from './schedule-repository.ts';
import { NEVER_RUN, type Schedule } from './schedule.ts';

/** The intervals of the configuration, in seconds; `null` for no schedule. */
export interface ScheduleIntervals {
  readonly syncSeconds: number | null;
  readonly verifySeconds: number | null;
  readonly cleanupSeconds: number | null;
  readonly backupSeconds: number | null;
}

interface ConfiguredSchedulesOptions {
  readonly database: Database;
  readonly repository: ScheduleRepository;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

/** The part that all configured schedules have in common. */
const COMMON = { origin: 'configured', max_runs: null } as const satisfies Partial<Schedule>;

/** The part of a schedule that the configuration decides. */
interface Wanted {
  readonly id: string;
  readonly group: ScheduleGroup;
  readonly action: string;
  readonly args: readonly string[];
  readonly every_seconds: number;
}

/** The settings by the ids of their schedules, without the prefix. */
const SETTINGS: ReadonlyMap<string, string> = new Map([
  ['sync', 'sync.intervalSeconds'],
  ...CHANNELS.map((channel) => [`verify:${channel}`, 'verify.intervalSeconds'] as const),
  ['cleanup', 'retention.cleanupIntervalSeconds'],
  ['backup', 'backup.intervalSeconds'],
]);

/** The setting that a configured schedule follows. */
export function settingOf(id: string): string {
  return SETTINGS.get(id.slice(CONFIGURED_SCHEDULE_PREFIX.length)) ?? 'the configuration';
}

/**
 * Makes the configured schedules equal to the configuration: adds, changes and removes. A schedule whose interval stays
 * the same keeps its next run, and stays disabled if it was disabled by hand. A new interval enables it, and first runs
 * at a random time in its second half: the daemons of several pods then do not contact upstream together, and the work
 * that a start does itself is not repeated soon. Other schedules stay as they are.
 *
 * @throws DatabaseError; then nothing was changed
 */
export function applyConfiguredSchedules(
  intervals: ScheduleIntervals,
  { database, repository, clock, random, logger }: ConfiguredSchedulesOptions,
): void {
  const wanted = schedulesOf(intervals);
  const firstRun = (every: number): number =>
    unixSeconds(clock) + Math.ceil(every / 2) + Math.floor((random() * every) / 2);
  const changed = database.transaction(() => {
    const unwanted = repository
      .list({ id: null, group: null, enabled: null })
      .filter(({ id, origin }) => origin === 'configured' && !wanted.some((schedule) => schedule.id === id));
    for (const { id } of unwanted) repository.remove(id);
    const stale = wanted.filter((schedule) => {
      const found = repository.get(schedule.id);
      const next = firstRun(schedule.every_seconds);
      if (found === null) {
        repository.insert({
          ...NEVER_RUN,
          ...COMMON,
          ...schedule,
          enabled: true,
          next_run_unix_seconds: next,
        });
        return true;
      }
      const after = followed(found, schedule, next);
      repository.update(after);
      return !isDeepStrictEqual(found, after);
    });
    return [...unwanted, ...stale].map(({ id }) => id);
  });
  if (changed.length > 0) logger.info({ schedules: changed }, 'schedules changed with the configuration');
}

function followed(found: Schedule, wanted: Wanted, next: number): Schedule {
  const sameInterval = found.every_seconds === wanted.every_seconds && found.next_run_unix_seconds !== null;
  return {
    ...found,
    ...COMMON,
    ...wanted,
    enabled: sameInterval ? found.enabled : true,
    exhausted: false,
    next_run_unix_seconds: sameInterval ? found.next_run_unix_seconds : next,
  };
}

function schedulesOf({
  syncSeconds,
  verifySeconds,
  cleanupSeconds,
  backupSeconds,
}: ScheduleIntervals): readonly Wanted[] {
  const row = (
    name: string,
    group: ScheduleGroup,
    action: string,
    args: readonly string[],
    every: number | null,
  ): readonly Wanted[] =>
    every === null
      ? []
      : [{ id: `${CONFIGURED_SCHEDULE_PREFIX}${name}`, group, action, args, every_seconds: every }];
  return [
    ...row('sync', 'res', 'sync', [], syncSeconds),
    ...CHANNELS.flatMap((channel) =>
      row(`verify:${channel}`, 'res', 'verify', [`channel=${channel}`], verifySeconds),
    ),
    ...row('cleanup', 'res', 'release-cleanup', [], cleanupSeconds),
    ...row('backup', 'i18n', 'backup', [], backupSeconds),
  ];
}
