import { type Clock, unixSeconds } from '../../platform/process/clock.ts';
import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DefinedAction } from '../define-action.ts';
import { type DefinedReport, defineReport } from '../define-report.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { DoctorCheck } from '../check.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import { type ScheduleIntervals, applyConfiguredSchedules } from './configured-schedules.ts';
import { createScheduleActions } from './schedule-actions.ts';
import { scheduleCheck } from './schedule-check.ts';
import {
  type ScheduleRepository,
  createScheduleRepository,
  reportedSchedule,
} from './schedule-repository.ts';
import { type ScheduleRuns, createScheduleRuns } from './schedule-runs.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Loop, createLoop } from '../../platform/process/loop.ts';

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
export function createSchedules(options: {
  /** The database of the engine's tasks: a run and its task are written in one transaction. */
  readonly database: Database;
  readonly engine: TaskEngine;
  readonly clock: Clock;
  /** In [0, 1); spreads the phases of configured schedules. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  readonly createId: () => string;
}): Schedules {
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

function createListReport(repository: ScheduleRepository, engine: TaskEngine): DefinedReport {
  return defineReport('schedule.list', ({ id = null, group = null, enabled = null }) => {
    const items = repository.list({ id, group, enabled }).map((schedule) => {
      const last = schedule.last_task_id === null ? null : engine.get(schedule.last_task_id);
      return { ...reportedSchedule(schedule, repository), last_status: last?.status ?? schedule.last_status };
    });
    return { total: items.length, items };
  });
}

interface ScheduleTimerOptions {
  readonly repository: ScheduleRepository;
  readonly runs: ScheduleRuns;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Runs schedules when they are due; call `wake` after every change of a schedule. */
type ScheduleTimer = Loop;

/** Maximum sleep, because the wall clock may be changed meanwhile. */
const MAX_SLEEP_MS = 30_000;
/** Wait before a retry when the database refused a run. */
const RETRY_MS = 5000;
/** Schedules run between two turns of the event loop; each run is a write to the disk. */
const RUNS_PER_TURN = 20;

/** Creates a timer. It runs nothing before `start`, and sleeps until the next schedule is due. */
function createScheduleTimer({ repository, runs, clock, logger }: ScheduleTimerOptions): ScheduleTimer {
  /** @returns whether every due schedule ran */
  const fireDue = async (signal: AbortSignal): Promise<boolean> => {
    runs.correctPlans();
    let complete = true;
    for (const [index, id] of repository.due(unixSeconds(clock)).entries()) {
      if (signal.aborted) return complete;
      try {
        runs.fire(id);
      } catch (error) {
        complete = false;
        logger.error({ err: error, schedule_id: id }, 'a schedule could not be run; retrying soon');
      }
      if (index % RUNS_PER_TURN === RUNS_PER_TURN - 1) await nextTurn();
    }
    return complete;
  };

  const untilNext = (): number => {
    const next = repository.nextDue();
    return next === null ? MAX_SLEEP_MS : Math.min(Math.max(next * 1000 - clock.now(), 1), MAX_SLEEP_MS);
  };

  const loop = createLoop({
    clock,
    turn: async (signal) => ((await fireDue(signal)) ? untilNext() : RETRY_MS),
    onFailure: (error) => {
      logger.error({ err: error }, 'schedules could not be read; retrying soon');
      return RETRY_MS;
    },
  });
  return loop;
}
