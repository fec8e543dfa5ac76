import { SCHEDULE_GROUPS } from '../../contract/schemas/vocabulary.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { ActionHandler, ReportHandler } from '../api/ports.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { DoctorCheck } from '../reports/doctor-report.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import { createScheduleActions } from './actions.ts';
import type { TaskPlan } from './schedulable-actions.ts';
import { scheduleCheck } from './schedule-check.ts';
import { createScheduleRepository, type ScheduleRepository } from './schedule-repository.ts';
import { createScheduleRuns } from './schedule-runs.ts';
import { createScheduleTimer } from './schedule-timer.ts';

/** What schedules are made of. */
export interface SchedulesDependencies {
  /** The database of the engine's tasks: a run and its task are written in one transaction. */
  readonly database: Database;
  readonly engine: TaskEngine;
  /** By the name of the action, those that this daemon can run; each queues a task of the kind of that name. */
  readonly plans: ReadonlyMap<string, TaskPlan>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  readonly createId: () => string;
}

/** The schedules of the daemon. */
export interface Schedules {
  readonly actions: ReadonlyMap<string, ActionHandler>;
  readonly reports: ReadonlyMap<string, ReportHandler>;
  readonly check: DoctorCheck;
  /** Begins to run what is due; after the engine has recovered. */
  start(): void;
  stop(): Promise<void>;
}

/** Puts the schedules together. */
export function createSchedules(deps: SchedulesDependencies): Schedules {
  const { database, engine, clock, logger } = deps;
  const repository = createScheduleRepository(database);
  const runs = createScheduleRuns({ ...deps, repository });
  const timer = createScheduleTimer({ repository, runs, clock, logger });
  engine.onFinished((task) => {
    repository.recordStatus(task.task_id, task.status);
  });
  return {
    actions: createScheduleActions({ ...deps, repository, runs, onChanged: () => timer.wake() }),
    reports: new Map([['schedule.list', createListReport(repository, engine)]]),
    check: scheduleCheck(repository, clock),
    start: () => {
      // Of tasks that ended just before an earlier process died.
      repository.refreshStatuses();
      timer.start();
    },
    stop: () => timer.stop(),
  };
}

function createListReport(repository: ScheduleRepository, engine: Pick<TaskEngine, 'get'>): ReportHandler {
  return (query) => {
    const { id, group, enabled } = query;
    const items = repository
      .list({
        id: typeof id === 'string' ? id : null,
        group: SCHEDULE_GROUPS.find((each) => each === group) ?? null,
        enabled: typeof enabled === 'boolean' ? enabled : null,
      })
      .map((schedule) => {
        const last = schedule.last_task_id === null ? null : engine.get(schedule.last_task_id);
        return { ...schedule, last_status: last?.status ?? schedule.last_status };
      });
    return { total: items.length, items };
  };
}
