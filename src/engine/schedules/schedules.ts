import type { Clock } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DefinedAction } from '../define-action.ts';
import { defineReport, type DefinedReport } from '../define-report.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { DoctorCheck } from '../check.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import { applyConfiguredSchedules, type ScheduleIntervals } from './configured-schedules.ts';
import { createScheduleActions } from './schedule-actions.ts';
import { scheduleCheck } from './schedule-check.ts';
import {
  createScheduleRepository,
  reportedSchedule,
  type ScheduleRepository,
} from './schedule-repository.ts';
import { createScheduleRuns } from './schedule-runs.ts';
import { createScheduleTimer } from './schedule-timer.ts';

export interface SchedulesOptions {
  /** The database of the engine's tasks: a run and its task are written in one transaction. */
  readonly database: Database;
  readonly engine: TaskEngine;
  readonly clock: Clock;
  /** In [0, 1); spreads the phases of configured schedules. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  readonly createId: () => string;
}

/** The schedules of the daemon. */
export interface Schedules {
  readonly actions: readonly DefinedAction[];
  readonly reports: readonly DefinedReport[];
  readonly check: DoctorCheck;
  /** Makes the configured schedules follow these intervals. @throws DatabaseError; then nothing was changed */
  configure(intervals: ScheduleIntervals): void;
  /** When the next enabled schedule of this action is due, Unix seconds. */
  nextRunOf(action: string): number | null;
  /** When the next enabled schedule is due, Unix seconds; in the past while it is late; `null` for none. */
  nextDueAt(): number | null;
  /** Starts to run due schedules; call it after the engine has recovered. */
  start(): void;
  stop(): Promise<void>;
}

/** Assembles the schedules. */
export function createSchedules(options: SchedulesOptions): Schedules {
  const { database, engine, clock, logger } = options;
  const repository = createScheduleRepository(database);
  const runs = createScheduleRuns({ ...options, repository });
  const timer = createScheduleTimer({ repository, runs, clock, logger });
  engine.onFinished((task) => {
    repository.recordStatus(task.task_id, task.status);
  });
  return {
    actions: createScheduleActions({ ...options, repository, runs, onChanged: () => timer.wake() }),
    reports: [createListReport(repository, engine)],
    check: scheduleCheck(repository, clock),
    configure: (intervals) => {
      applyConfiguredSchedules(intervals, { ...options, repository });
      timer.wake();
    },
    nextDueAt: () => repository.nextDue(),
    nextRunOf: (action) => repository.nextDueOf(action),
    start: () => {
      // Covers tasks that ended just before an earlier process died.
      repository.refreshStatuses();
      timer.start();
    },
    stop: () => timer.stop(),
  };
}

function createListReport(repository: ScheduleRepository, engine: Pick<TaskEngine, 'get'>): DefinedReport {
  return defineReport('schedule.list', ({ id = null, group = null, enabled = null }) => {
    const items = repository.list({ id, group, enabled }).map((schedule) => {
      const last = schedule.last_task_id === null ? null : engine.get(schedule.last_task_id);
      return { ...reportedSchedule(schedule, repository), last_status: last?.status ?? schedule.last_status };
    });
    return { total: items.length, items };
  });
}
